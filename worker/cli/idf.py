"""The user's own pages → a table of idf for the weights tf-idf of ``explain`` and ``evaluate``."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from crawler_plugin.wire.errors import PageError, UsageError
from worker.cli._output_file import path_here
from worker.compose.kernels import compile_apart
from worker.compose.parts import recipe
from worker.evaluate.idf import count_documents, table
from worker.evaluate.labels.labelled import META, Document, Field, read_documents
from worker.fingerprint.fingerprinter import Fingerprinter

if TYPE_CHECKING:
    from worker.config import Settings

LEAST = 2
"""Documents that a word must occur in by default: words of one document are most of all words, and equally rare."""


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    parser.add_argument(
        "--docs", type=Path, required=True, metavar="FILE", help="documents, JSON lines: id, text or html; or a folder"
    )
    parser.add_argument("--field", choices=("text", "html"), default="text", help="what to count; default text")
    parser.add_argument(
        "--least",
        type=int,
        default=LEAST,
        metavar="N",
        help=f"leave out words that fewer documents have; default {LEAST}",
    )
    parser.add_argument("--out", type=path_here, required=True, metavar="FILE", help="where to write the table")


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """Write the table and say which settings use it."""
    if arguments.least < 1:
        raise UsageError(f"--least {arguments.least}: give a number from 1 on")
    settings = load()
    documents = read_documents(arguments.docs, arguments.field)
    compile_apart()
    fingerprinter = Fingerprinter(recipe(settings))
    texts = _texts(documents, arguments.field, fingerprinter)
    counted = count_documents(texts, fingerprinter.reader, fingerprinter.recipe.noise_words)
    rows = table(counted, arguments.least)
    try:
        with arguments.out.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{row.token}\t{row.idf:.6f}\n" for row in rows)
    except OSError as error:
        raise UsageError(f"--out {arguments.out}: cannot be written ({error.strerror}); name another file") from error
    print(f"{arguments.out}: {len(rows):,} words of {counted.documents:,} different documents; to use it:")
    print(f"python -m worker explain --weights tf-idf --idf-table {shlex.quote(str(arguments.out))} A B")
    return 0


def _texts(documents: list[Document], field: Field, fingerprinter: Fingerprinter) -> Iterator[str]:
    for document in documents:
        try:
            yield fingerprinter.text_of(document.body.encode("utf-8", "replace"), META[field])
        except PageError as error:
            print(f"document {document.id!r} is left out: {error}", file=sys.stderr)
