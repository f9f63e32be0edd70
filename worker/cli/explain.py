"""Two texts or pages, and every step to the verdict on them."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from crawler_plugin.wire.errors import PageError, UsageError
from crawler_plugin.wire.page_headers import PageMeta
from crawler_plugin.wire.urls import canonical_url, id_or_url, url_of_id
from worker.cli._output_file import path_here
from worker.cli._variant_options import add_variant_options, variant_of
from worker.compose.few_pages import parsed
from worker.compose.kernels import compile_apart
from worker.compose.parts import near, recipe
from worker.evaluate.literature.comparison import compare
from worker.evaluate.literature.explained import Explained, Explainer
from worker.evaluate.literature.hashes import MAX_BITS, MIN_BITS
from worker.evaluate.literature.measures import BlockLayout
from worker.fingerprint.conditions import rules
from worker.fingerprint.hashing import WORD_BITS
from worker.page.extract import blocks_of
from worker.page.main_text.content import PageBlock
from worker.results.explain.causes import causes
from worker.results.explain.explanation_page import Explanation, explanation_page
from worker.results.explain.lines import cause_lines, difference_lines, rule_lines
from worker.results.explain.objects import cause_object, rule_objects
from worker.results.explain.side_by_side import as_object, as_text, of_records
from worker.results.report.difference import difference_of
from worker.results.report.words import cut_by
from worker.terminal import aligned, fitted

if TYPE_CHECKING:
    from worker.config import PageSettings, Settings

STDIN: Final = "-"
_NAME_CHARACTERS: Final = 40
_LAST: Final = 100_000
_TELL_SECONDS: Final = 1.0
_BLOCK_CHARACTERS: Final = 100
_MOVES: Final = {
    "parser-timeout": "give a smaller page, or more time in page.timeout_seconds",
    "parser-memory": "give a smaller page, or more memory in page.memory_mb",
}
_OTHER_MOVE: Final = "give a page of HTML or a text"

T = TypeVar("T")


@dataclass(frozen=True)
class Side:
    """One of the two inputs. ``name`` is for people; ``truncated``: the input is longer than the part of a page that is
    read; ``typed``: it stood on the command line."""

    name: str
    body: bytes
    meta: PageMeta
    truncated: bool = False
    typed: bool = False


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    parser.add_argument("a", metavar="A", help="file of HTML or text, told apart by its content; - for standard input")
    parser.add_argument("b", metavar="B", nargs="?", help="the same")
    parser.add_argument(
        "--blocks", action="store_true", help="show each line of the page A, kept or dropped, and by which rule"
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--state",
        type=Path,
        metavar="DIR",
        help="A and B are URLs that this state has kept, or ids of pages without one; it has records, no texts",
    )
    source.add_argument("--topic", action="store_true", help="A and B are URLs whose pages are on the topic pages")
    parser.add_argument(
        "--last",
        type=int,
        default=_LAST,
        metavar="RECORDS",
        help=f"with --topic: how many records of each partition are read, from its end (default: {_LAST:,})",
    )
    source.add_argument("--text", action="store_true", help="A and B are the texts themselves")
    parser.add_argument(
        "--tagged",
        action="store_true",
        help="A and B are segmented already, as word/tag word/tag: these words are compared, without their tags",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--html", type=path_here, metavar="FILE", help="write a page for a browser instead: one file")
    parser.add_argument("--all", action="store_true", dest="everything", help="show all tokens and features")
    parser.add_argument("--k", type=int, metavar="BITS", help="instead of the setting near.k")
    parser.add_argument(
        "--bits",
        type=int,
        default=WORD_BITS,
        metavar="N",
        help=f"width of the fingerprints, {MIN_BITS} to {MAX_BITS}; the index has {WORD_BITS}",
    )
    add_variant_options(parser)


def run(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
    """Print the comparison. The exit code is 0 whether they are near or not."""
    settings = load()
    k = settings.near.k if arguments.k is None else arguments.k
    if arguments.blocks:
        return _show_blocks(arguments, settings.page)
    _check(arguments, k, settings)
    made = recipe(settings)
    rule = replace(near(settings).near, k=k)
    layout = BlockLayout.parse(settings.index.layout)
    if arguments.state is not None:
        from worker.results.explain.from_state import as_explained, survivors_of  # reading files needs no index

        kept = survivors_of(arguments.state, settings, made, _urls(arguments))
        compared = compare(*map(as_explained, kept), near=rule, layout=layout)
        names = (id_or_url(kept[0].url), id_or_url(kept[1].url))
        _show(arguments, Explanation(names, compared, rules(rule, *kept)))
        return 0
    sides = _sides_of_topic(arguments, settings) if arguments.topic else _sides(arguments, settings.page.max_bytes)
    for side in sides:
        if side.truncated:
            print(f"{side.name}: only its first {len(side.body)} bytes are read (page.max_bytes)", file=sys.stderr)
    variant = variant_of(arguments, settings, arguments.bits)
    a, b = _explained(sides, partial(Explainer, made, variant, tagged=arguments.tagged), settings.page)
    explanation = Explanation(
        (sides[0].name, sides[1].name),
        compare(a, b, near=rule, layout=layout),
        rules(rule, a, b),
        difference_of(a.text, b.text, cut_by(made.reader)),
        causes(a, b, variant, made.key),
    )
    _show(arguments, explanation)
    return 0


def _show(arguments: argparse.Namespace, explanation: Explanation) -> None:
    """Show it as the options say."""
    names, comparison, texts = explanation.names, explanation.comparison, explanation.texts
    if arguments.html is not None:
        try:
            arguments.html.write_text(explanation_page(explanation), encoding="utf-8")
        except OSError as error:
            raise UsageError(
                f"--html {arguments.html} cannot be written ({error.strerror}); name another file"
            ) from error
        print(f"written to {arguments.html}")
    elif arguments.json:
        found = {"rules": rule_objects(explanation.rules), "moved": cause_object(explanation.causes)}
        print(json.dumps(as_object(comparison, names) | found, ensure_ascii=False, indent=2))
    elif texts is None:
        _print([[of_records(comparison, names)], rule_lines(explanation.rules)])
    else:
        parts = [
            [as_text(comparison, names, everything=arguments.everything)],
            difference_lines(texts),
            cause_lines(explanation.causes, everything=arguments.everything),
            rule_lines(explanation.rules),
        ]
        _print(parts)


def _print(parts: Sequence[Sequence[str]]) -> None:
    """Print lines, with an empty one between parts. Titles, words and texts are the pages', and no terminal may obey
    them."""
    told = "\n\n".join("\n".join(lines) for lines in parts if lines)
    print(fitted("\n".join(map(_printable, told.split("\n")))))


def _sides_of_topic(arguments: argparse.Namespace, settings: Settings) -> tuple[Side, Side]:
    from worker.results.explain.from_topic import pages_of  # reading files needs no Kafka client

    told = time.monotonic()

    def tell(passed: int, whole: int) -> None:
        nonlocal told
        if time.monotonic() - told >= _TELL_SECONDS:
            told = time.monotonic()
            print(f"{passed:,} of {whole:,} records read", file=sys.stderr)

    urls = _urls(arguments)
    pages = pages_of(settings, urls, arguments.last, tell)
    a, b = (Side(_printable(meta.url), body, meta) for body, meta in pages)
    return a, b


def _urls(arguments: argparse.Namespace) -> tuple[str, str]:
    """Both URLs in the form that the index and the topic use. In a state, a name that is no URL is the id of a page
    without one."""
    urls = []
    for given in (arguments.a, arguments.b):
        try:
            is_id = arguments.state is not None and "://" not in given
            urls.append(canonical_url(url_of_id(given) if is_id else given))
        except ValueError as error:
            raise UsageError(f"{_printable(given)} is no URL of a page ({error}); give one with its scheme") from error
    return urls[0], urls[1]


class Blocks:
    """Finds which lines of a page are kept, in a parsing process like ``Explainer``."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes: Final = max_bytes

    def __call__(self, body: bytes, meta: PageMeta) -> list[PageBlock]:
        """The blocks of the page.

        Raises:
            PageError: the body cannot be read as a page.
        """
        return blocks_of(body, max_bytes=self.max_bytes)


def _show_blocks(arguments: argparse.Namespace, page: PageSettings) -> int:
    if (
        arguments.b is not None
        or arguments.text
        or arguments.tagged
        or arguments.topic
        or arguments.state
        or arguments.html
    ):
        raise UsageError("--blocks shows one page of a file; leave B and all other sources and forms out")
    side = _from_file(arguments.a, url="a:", max_bytes=page.max_bytes)
    found = _answers((side,), partial(Blocks, page.max_bytes), list[PageBlock], page)[0]
    if isinstance(found, PageError):
        raise UsageError(f"{side.name} has no blocks: {found}; {_MOVES.get(found.reason, _OTHER_MOVE)}")
    if arguments.json:
        rows = [block._asdict() for block in found]
        print(json.dumps(rows, ensure_ascii=False, indent=2))
        return 0
    lines = []
    for block in found:
        text = _printable(block.text)
        shown = text if arguments.everything or len(text) <= _BLOCK_CHARACTERS else text[: _BLOCK_CHARACTERS - 1] + "…"
        unseen = f" <{block.unseen_in}>" if block.unseen_in else ""
        said = (block.dropped_by or (f"from {block.origin}" if block.origin else "kept")) + unseen
        lines.append((said, shown))
    print("\n".join(aligned(lines)))
    return 0


def _check(arguments: argparse.Namespace, k: int, settings: Settings) -> None:
    bits = arguments.bits
    if not MIN_BITS <= bits <= MAX_BITS:
        raise UsageError(f"--bits {bits}: fingerprints have {MIN_BITS} to {MAX_BITS} bits; give one of these widths")
    keyed = settings.fingerprint.key_file is not None
    if bits > WORD_BITS and arguments.hash == "bkdr":
        raise UsageError(f"--bits {bits}: the hash bkdr has {WORD_BITS}; leave --hash out")
    if keyed and arguments.hash == "bkdr":
        raise UsageError("--hash bkdr takes no key; leave --hash or fingerprint.key_file out")
    if bits > WORD_BITS and keyed:
        raise UsageError(f"--bits {bits}: hashes have {WORD_BITS} with a fingerprint.key_file; leave that out")
    if not 0 <= k <= bits:
        raise UsageError(f"--k {k}: a distance is between 0 and {bits} bits; give one of these")
    if arguments.b is None:
        raise UsageError("there is nothing to compare A with; give B, or --blocks to see what is kept of A")
    from_files = not arguments.text and not arguments.topic and arguments.state is None
    if arguments.last < 1:
        raise UsageError(f"--last {arguments.last}: give the number of records to read of each partition, 1 or more")
    other_words = arguments.tagged or arguments.weights != "tf" or arguments.hash != "xxh3"
    if arguments.state is not None and (bits != WORD_BITS or other_words):
        raise UsageError(
            f"--state has fingerprints of {WORD_BITS} bits and no words; leave --bits, --tagged, --weights and "
            "--hash out"
        )
    if arguments.topic and arguments.tagged:
        raise UsageError("--topic reads pages, whose words are not tagged; leave --tagged out")
    if from_files and arguments.a == arguments.b == STDIN:
        raise UsageError("standard input can be A or B, not both; give a file for one of them")


def _sides(arguments: argparse.Namespace, max_bytes: int) -> tuple[Side, Side]:
    # A page declared as plain text is only decoded.
    content_type = "text/plain" if arguments.tagged else None
    read = _from_text if arguments.text else partial(_from_file, max_bytes=max_bytes, content_type=content_type)
    return read(arguments.a, url="a:"), read(arguments.b, url="b:")


def _from_text(text: str, *, url: str) -> Side:
    shown = text if len(text) <= _NAME_CHARACTERS else text[: _NAME_CHARACTERS - 1] + "…"
    # Bytes of the command line that are not UTF-8 came in as lone surrogates; here they are bytes again.
    body = text.encode("utf-8", "surrogateescape")
    return Side(_printable(shown), body, PageMeta(url=url, form="text"), typed=True)


def _from_file(name: str, *, url: str, max_bytes: int, content_type: str | None = None) -> Side:
    try:
        if name == STDIN:
            body = sys.stdin.buffer.read(max_bytes + 1)
        else:
            with Path(name).open("rb") as file:
                body = file.read(max_bytes + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UsageError(
            f"{_printable(name)} cannot be read ({why}); name a file, or add --text if these are the texts themselves"
        ) from error
    shown = "standard input" if name == STDIN else _printable(name)
    meta = PageMeta(url=url, content_type=content_type)
    return Side(shown, body[:max_bytes], meta, truncated=len(body) > max_bytes)


def _printable(name: str) -> str:
    """The text without line ends and control characters that a terminal would obey."""
    return "".join(character if character.isprintable() else "\ufffd" for character in name)


def _explained(
    sides: tuple[Side, Side], explainer: Callable[[], Explainer], page: PageSettings
) -> tuple[Explained, Explained]:
    """Both.

    Raises:
        UsageError: a side cannot be fingerprinted.
    """
    found = _answers(sides, explainer, bytes, page)
    return _or_refuse(sides[0], found[0]), _or_refuse(sides[1], found[1])


def _answers(
    sides: Sequence[Side], task: Callable[[], Callable[[bytes, PageMeta], T]], result: type[T], page: PageSettings
) -> dict[int, T | PageError]:
    """The task's result for each, by its place.

    A page is read in a process that ends if it is made to break parsers. Texts of the command line are the user's own.
    """
    if all(side.typed for side in sides):
        compile_apart()
        read = task()
        return {number: read(side.body, side.meta) for number, side in enumerate(sides)}
    return dict(parsed(task, result, page, ((number, side.body, side.meta) for number, side in enumerate(sides))))


def _or_refuse(side: Side, outcome: bytes | PageError) -> Explained:
    if isinstance(outcome, PageError):
        raise UsageError(f"{side.name} has no fingerprint: {outcome}; {_MOVES.get(outcome.reason, _OTHER_MOVE)}")
    try:
        return Explained.decode(outcome)
    except ValueError as error:
        raise UsageError(f"the parser's answer on {side.name} cannot be read ({error}); {_OTHER_MOVE}") from error
