"""Files of rows with the oddities of other projects' test data, made from a seed, and how many pages an independent
reader (csv, json, pyarrow) finds in each.

For each file the program also says how many of the other records are dead, by reason.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from backports import zstd

from tests.scan.inputs.written import url

SEED: Final = 35


@dataclass(frozen=True)
class RowFile:
    """``pages`` is the independent reader's number, ``dead`` counts the records that the program added to them."""

    name: str
    content: bytes
    pages: int
    dead: Mapping[str, int] = field(default_factory=dict)
    encoding: str | None = None


def row_files() -> list[RowFile]:
    """All files, the same in every run."""
    chance = random.Random(SEED)
    return [*_tables(chance), *_json_lines(chance), *_arrays(chance), *_parquet(chance)]


def _text(chance: random.Random, extra: str = "") -> str:
    """Words, and now and then delimiters of cells, rows and strings."""
    odd = ["\n", "\r\n", '""', *"\",;\t|\\{}[]'ü中😀\x85\u2028 "]
    return extra + " ".join(chance.choice(["a", "page", "of", "words", *odd]) for _ in range(chance.randrange(3, 30)))


def _rows(chance: random.Random, count: int = 9) -> list[dict[str, Any]]:
    return [{"id": f"n{number}", "url": url(number), "html": _text(chance, "<p>")} for number in range(count)]


# Tables as text


def _written(table: Sequence[Sequence[object]], **dialect: Any) -> str:
    out = io.StringIO(newline="")
    csv.writer(out, **dialect).writerows(table)
    return out.getvalue()


def _table(rows: Sequence[Mapping[str, Any]]) -> list[list[object]]:
    return [list(rows[0]), *([*row.values()] for row in rows)]


def _read(text: str, delimiter: str = ",") -> tuple[int, int]:
    """Rows with as many cells as the header, and others, as csv reads them."""
    csv.field_size_limit(max(csv.field_size_limit(), 1 << 20))
    header, *rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
    whole = sum(len(row) == len(header) for row in rows)
    return whole, len(rows) - whole


def _csv(name: str, text: str, delimiter: str = ",", encoding: str = "utf-8", named: str | None = None) -> RowFile:
    pages, ragged = _read(text.removeprefix("\ufeff"), delimiter)
    dead = {"no-columns": ragged} if ragged else {}
    return RowFile(f"{name}.csv", text.encode(encoding), pages, dead, named)


def _tables(chance: random.Random) -> Iterator[RowFile]:
    for delimiter in ",;\t|":
        for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC):
            end = chance.choice(["\n", "\r\n"])
            text = _written(_table(_rows(chance)), delimiter=delimiter, quoting=quoting, lineterminator=end)
            yield _csv(f"dialect {ord(delimiter)} {quoting}", text, delimiter)
    plain = [{**row, "html": f"<p>Zürich {row['id']}"} for row in _rows(chance)]
    text = _written(_table(plain))
    yield _csv("mark", "\ufeff" + text)
    yield _csv("no end of the last line", text.rstrip())
    yield _csv("blank lines", text.replace("\r\n", "\r\n\r\n"))
    yield _csv("ends with cr", _written(_table(plain), lineterminator="\r"))
    yield _csv("cr in quotes", _written(_table([{**row, "html": "<p>a\rb\rc"} for row in plain])))
    yield _csv("zero bytes", text.replace("Zürich", "Z\0rich"))
    yield _csv("cp1252", text, encoding="cp1252")
    yield _csv("cp1252 named", text, encoding="cp1252", named="cp1252")
    yield _csv("cp500 named", text.replace("\r\n", "\n"), encoding="cp500", named="cp500")
    yield _csv("shift jis named", text.replace("Zürich", "表ソ能"), encoding="cp932", named="cp932")
    yield _csv("utf 16", text, encoding="utf-16")
    yield _csv("utf 16 without a mark", text, encoding="utf-16-be")
    yield _csv("utf 32", text, encoding="utf-32")
    yield _csv("names twice", text.replace("id,url,html", "url,url,html"))
    yield _csv("names missing", text.replace("id,url,html", ",url,html"))
    noted = [[*row, "a"] for row in _table(plain)]
    yield _csv("names with lines", _written([[*noted[0][:-1], "a\nnote"], *noted[1:]]))
    yield _csv("ragged", text + "a\r\na,b\r\na,b,c,d\r\n" + text.partition("\r\n")[2])
    yield _csv("huge cell", _written(_table([{**row, "html": "<p>" + "a,\n" * 45_000} for row in plain[:3]])))
    yield _csv("header alone", "id,url,html\r\n")
    yield _csv("empty cells", text + ",,\r\n" * 3)
    excel, rest = "sep=;\r\n", _written(_table(plain), delimiter=";")
    yield RowFile("excel.csv", (excel + rest).encode(), _read(rest, ";")[0])
    stray = text + 'n,https://host.example/,"a\r\n' + text.partition("\r\n")[2]
    yield RowFile("stray quote.csv", stray.encode(), 2 * len(plain), {"no-columns": 1})
    large = text + 'n,https://host.example/,"' + "a line of it\r\n" * 90_000 + '"\r\n'
    yield RowFile("too large.csv", large.encode(), len(plain), {"too-large": 1})


# JSON


def _is_page(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("html"), str)


def _lines_read(content: str) -> tuple[int, int]:
    """Lines that json reads as an object with a page, and others that are not blank."""
    pages = others = 0
    for line in content.split("\n"):
        try:
            found = not line.strip() or _is_page(json.loads(line))
        except (ValueError, RecursionError):
            found = False
        pages += found and bool(line.strip())
        others += not found
    return pages, others


def _dumped(chance: random.Random, rows: Sequence[object]) -> str:
    return "".join(json.dumps(row, ensure_ascii=chance.random() < 0.5) + "\n" for row in rows)


def _json_lines(chance: random.Random) -> Iterator[RowFile]:
    rows = _rows(chance)
    text = _dumped(chance, rows)

    def lines(name: str, content: str, dead: Mapping[str, int] | None = None, encoding: str = "utf-8") -> RowFile:
        pages, others = _lines_read(content.removeprefix("\ufeff"))
        assert others == sum((dead or {}).values()), name
        return RowFile(f"{name}.jsonl", content.encode(encoding, "surrogatepass"), pages, dead or {})

    def one(**more: Any) -> str:
        return json.dumps(rows[0] | more) + "\n"

    yield lines("plain", text)
    yield lines("mark and crlf", "\ufeff" + text.replace("\n", "\r\n"))
    yield lines("blank lines", text.replace("\n", "\n\n \t\r\n"))
    yield lines("no end of the last line", text.rstrip())
    yield lines("comments", "// made by a test\n" + text + "# the end\n", {"no-json": 2})
    yield lines("numbers that are none", text + one(score=float("nan"), other=float("-inf")))
    yield lines("names twice", text + one().replace('"html"', '"html": "<p>first", "html"'))
    yield lines("halves of pairs", text + one(html="<p>\ud800 a \udc00"))
    yield lines("deep", text + one(more=0).replace("0}", "[" * 50 + "]" * 50 + "}"))
    yield lines("too deep", text + one(more=0).replace("0}", "[" * 90_000 + "]" * 90_000 + "}"), {"no-json": 1})
    yield lines("large numbers", text + one(n=10**400, m=1).replace('"m": 1', '"m": 1e999, "k": -1E+400'))
    digits = text + one(n=0).replace('"n": 0', '"n": ' + "9" * 5000)
    yield RowFile("numbers of thousands of digits.jsonl", digits.encode(), len(rows) + 1)  # json refuses these
    yield lines("no objects", text + '[]\n"a"\n17\nnull\n', {"no-object": 4})
    yield lines("no body", text + one(html=None) + one(html=7) + '{"url": "a"}\n', {"no-body": 3})
    yield lines("cut", text + one()[:-20], {"no-json": 1})
    yield lines("utf 16", text, encoding="utf-16")
    yield lines("utf 16 without a mark", text, encoding="utf-16-le")
    yield RowFile("ends with cr.jsonl", text.replace("\n", "\r").encode(), _lines_read(text)[0])
    packers: dict[str, Callable[[bytes], bytes]] = {
        "gz": lambda part: gzip.compress(part, mtime=0), "zst": zstd.compress, "bz2": bz2.compress, "xz": lzma.compress,
    }  # fmt: skip
    for name, pack in packers.items():
        parts = [text[:700], text[700:], _dumped(chance, rows), ""]
        content = b"".join(pack(part.encode()) for part in parts)
        yield RowFile(f"concatenated.jsonl.{name}", content, sum(map(_is_page, rows)) * 2)


def _arrays(chance: random.Random) -> Iterator[RowFile]:
    rows = _rows(chance)
    scrapy = "[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]"

    def array(name: str, content: str, dead: Mapping[str, int] | None = None, encoding: str = "utf-8") -> RowFile:
        values = json.loads(content.removeprefix("\ufeff"))
        pages = sum(map(_is_page, values))
        assert len(values) - pages == sum((dead or {}).values()), name
        return RowFile(f"{name}.json", content.encode(encoding), pages, dead or {})

    yield array("scrapy", scrapy)
    yield array("on one line", json.dumps(rows, ensure_ascii=False))
    yield array("indented", "\ufeff" + json.dumps(rows, indent=2))
    yield array("nested", json.dumps([{**row, "more": [{"html": ["]", {"a": "}"}]}]} for row in rows]))
    yield array("empty", "[]\n")
    others = [*rows, 1, ["a", "b"], None, {"url": "a"}]
    yield array("others among them", json.dumps(others), {"no-object": 3, "no-body": 1})
    yield array("utf 16", scrapy, encoding="utf-16")
    yield RowFile("packed.json.gz", gzip.compress(scrapy.encode(), mtime=0), len(rows))
    yield RowFile("appended.json", f"{scrapy}{scrapy}".encode(), 2 * len(rows))
    yield RowFile("cut.json", scrapy[: scrapy.rindex("{") + 30].encode(), len(rows) - 1, {"damaged": 1})
    yield RowFile("not closed.json", scrapy[:-2].encode(), len(rows), {"damaged": 1})
    broken = scrapy.replace('"id": "n3"', '"id": "n"3"')
    yield RowFile("stray quote.json", broken.encode(), len(rows) - 1, {"no-json": 1})


# Parquet


def _parquet_file(name: str, columns: Mapping[str, Any], dead: int = 0, **options: Any) -> RowFile:
    out = io.BytesIO()
    table = pa.table(dict(columns))
    pq.write_table(table, out, **({"row_group_size": 3} | options))
    found = pq.read_table(io.BytesIO(out.getvalue()), columns=["html"]).column(0)
    assert found.null_count == dead, name
    return RowFile(f"{name}.parquet", out.getvalue(), len(found) - found.null_count, {"no-body": dead} if dead else {})


def _parquet(chance: random.Random) -> Iterator[RowFile]:
    rows = _rows(chance)
    urls, texts = [row["url"] for row in rows], [row["html"] for row in rows]
    bodies = [text.encode() for text in texts]
    count = len(rows)
    for type_ in (pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view()):
        html = pa.array(bodies if "binary" in str(type_) else texts, type_)
        yield _parquet_file(str(type_), {"url": pa.array(urls, pa.string_view()), "html": html})
    yield _parquet_file("dictionary", {"url": urls, "html": pa.array(["<p>a", "<p>b", "<p>a"] * 3).dictionary_encode()})
    yield _parquet_file("fixed binary", {"url": urls, "html": pa.array([b"<p>ab"] * count, pa.binary(5))})
    for codec in ("none", "snappy", "gzip", "brotli", "lz4", "zstd"):
        yield _parquet_file(f"codec {codec}", {"url": urls, "html": texts}, compression=codec)
    times = [chance.randrange(-(2**62), 2**62) | 1 for _ in rows]
    far = [chance.randrange(2**50, 2**60) for _ in rows]
    struct = pa.StructArray.from_arrays([pa.array(times, pa.timestamp("ns", "UTC")), pa.array(urls)], ["at", "link"])
    yield _parquet_file(
        "times",
        {
            "meta": struct,
            "html": texts,
            "fetched": pa.array(far, pa.timestamp("us")),
            "times": pa.array([[time] for time in times], pa.list_(pa.timestamp("ns"))),
            "day": pa.array([2**30] * count, pa.int32()).cast(pa.date32()),
            "hour": pa.array([1] * count, pa.int64()).cast(pa.time64("ns")),
            "took": pa.array(times, pa.int64()).cast(pa.duration("ns")),
        },
    )
    yield _parquet_file(
        "nested",
        {
            "id": pa.array(range(count), pa.decimal128(10, 2)),
            "html": texts,
            "map": pa.array([[("a", "b")]] * count, pa.map_(pa.string_view(), pa.binary_view())),
            "lists": pa.array([[["a"], []]] * count, pa.list_(pa.large_list(pa.string_view()))),
            "struct": pa.array([{"a": {"url": one, "b": [1]}} for one in urls]),
        },
    )
    yield _parquet_file("nulls", {"url": [None, *urls[1:]], "html": [*texts[:-2], None, None]}, 2)
    yield _parquet_file("all null", {"url": urls, "html": pa.array([None] * count, pa.string())}, count)
    yield _parquet_file("empty", {"url": pa.array([], pa.string()), "html": pa.array([], pa.string())})
    out = io.BytesIO()
    table = pa.table({"url": urls, "html": texts})
    with pq.ParquetWriter(out, table.schema) as writer:
        for part in (table.slice(0, 0), table.slice(0, 4), table.slice(0, 0), table.slice(4)):
            writer.write_table(part)
    yield RowFile("empty groups.parquet", out.getvalue(), pq.read_metadata(io.BytesIO(out.getvalue())).num_rows)
