"""Options of commands that make fingerprints as in the literature, where these differ from the worker's."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from worker.evaluate.literature.variant import Variant, read_idf, read_levels
from worker.evaluate.literature.weights import WEIGHTS
from worker.fingerprint.hashing import WORD_BITS

if TYPE_CHECKING:
    from worker.config import Settings


def add_variant_options(parser: argparse.ArgumentParser) -> None:
    """Options for the weights of words, and for how they are hashed."""
    group = parser.add_argument_group("fingerprints of the literature; no worker's verdict rests on them")
    group.add_argument(
        "--weights",
        choices=WEIGHTS,
        default="tf",
        help="how much a word counts: its frequency, 1 + log of it, frequency by rarity, a level from 1 to 5, or one "
        "each; default tf, as in the worker",
    )
    group.add_argument(
        "--idf-table", type=Path, metavar="FILE", help="words with their idf, for tf-idf and five-levels; see idf"
    )
    group.add_argument(
        "--levels-file", type=Path, metavar="FILE", help="words with their levels, a tab between, for five-levels"
    )
    group.add_argument(
        "--hash", choices=("xxh3", "bkdr"), default="xxh3", help="hash of a feature; bkdr has seed 31; default xxh3"
    )


def variant_of(arguments: argparse.Namespace, settings: Settings, bits: int = WORD_BITS) -> Variant:
    """The variant of these options, with its files read.

    Raises:
        UsageError: options that do not go together, or a file that cannot be read.
    """
    fold = settings.segment.fold_traditional
    idf, levels = arguments.idf_table, arguments.levels_file
    return Variant(
        hash=arguments.hash,
        bits=bits,
        weights=arguments.weights,
        idf=None if idf is None else read_idf(idf, fold_traditional=fold),
        levels=None if levels is None else read_levels(levels, fold_traditional=fold),
    )
