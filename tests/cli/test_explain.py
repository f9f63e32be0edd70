"""``python -m worker explain``, or ``compare``."""

from __future__ import annotations

import argparse
import io
import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest

from crawler_plugin.wire.errors import UsageError
from crawler_plugin.wire.page_headers import PageMeta
from crawler_plugin.wire.urls import url_of_id
from worker.cli import explain
from worker.config import Settings
from worker.local import Deduplicator

CALLED = "你妈妈喊你回家吃饭哦，回家罗回家罗"
CALLED_IN_OTHER_WORDS = "你妈妈叫你回家吃饭啦，回家罗回家罗"
PAGE = "<html><head><meta charset='gbk'><title>飞碟</title></head><body><p>{}</p></body></html>"


def run(*words: str, **sections: dict[str, Any]) -> int:
    parser = argparse.ArgumentParser()
    explain.configure(parser)
    return explain.run(parser.parse_args(words), lambda: Settings.model_validate(sections))


def compared(capsys: pytest.CaptureFixture[str], *words: str, **sections: dict[str, Any]) -> dict[str, Any]:
    assert run(*words, "--json", **sections) == 0
    printed: dict[str, Any] = json.loads(capsys.readouterr().out)
    return printed


def test_two_texts_are_shown_from_tokens_to_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--text", CALLED, CALLED_IN_OTHER_WORDS) == 0
    printed = capsys.readouterr().out
    lines = printed.splitlines()
    assert f"A  {CALLED}  zh, 8 tokens, 14 features" in lines
    assert "A  妈妈 喊 回家 吃饭 回家 罗 回家 罗" in lines
    assert ["回家", "2.00", "2.13"] in [line.split() for line in lines]
    assert ["喊", "1.00", "-"] in [line.split() for line in lines]
    assert any(line.startswith("A  0001010001111001 ") for line in lines), "the fingerprint begins with 0x1479"
    assert next(line.split()[0] for line in lines if line.endswith("of 64 bits differ")) == "8"
    assert "an ordinary hash of the text (blake2b) for comparison" in lines
    verdict = next(place for place, line in enumerate(lines) if line.startswith("verdict at k = 3"))
    assert lines[verdict].split() == ["verdict", "at", "k", "=", "3", "near", "(sketch)"]
    assert [line.split()[:3] for line in lines[verdict - 2 : verdict]] == [
        ["agreement", "of", "sketches"],
        ["bands", "in", "common"],
    ]
    assert "B  你妈妈{+叫+}你回家吃饭{+啦+}，回家罗回家罗" in lines
    assert sum(line.startswith("   bit ") for line in lines) == 8
    assert [line for line in lines if line.startswith("rule ")] == [
        "rule hamming: does not hold",
        "rule sketch: holds, and decides",
    ]


def test_the_measures_agree_with_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    found = compared(capsys, "--text", CALLED, CALLED_IN_OTHER_WORDS)
    a, b = found["a"]["fingerprint"], found["b"]["fingerprint"]
    assert len(a) == len(b) == found["bits"] == 64
    distance = sum(ours != theirs for ours, theirs in zip(a, b, strict=True))
    assert found["distance"] == distance == 8
    assert found["share_of_equal_bits"] == 1 - distance / 64
    assert found["angle_radians"] == pytest.approx(math.pi * distance / 64)
    assert found["cosine"] == pytest.approx(math.cos(math.pi * distance / 64))
    in_common = [number for number in range(4) if a[48 - 16 * number :][:16] == b[48 - 16 * number :][:16]]
    assert found["blocks"] == {"layout": "4x16", "in_common": in_common}
    for name, far in found["ordinary_hash_distance"].items():
        ours, theirs = (found[side]["ordinary_hashes"][name] for side in "ab")
        assert far == sum(one != other for one, other in zip(ours, theirs, strict=True)) > 20
    assert (found["near"], found["reason"], found["k"]) == (True, "sketch", 3)
    assert found["agreement_of_sketches"] >= 90
    assert 1 <= found["bands_in_common"] <= 8
    assert [bit["bit"] for bit in found["moved"]["bits"]] == [63 - place for place in range(64) if a[place] != b[place]]
    assert len(found["moved"]["bands"]) == 8 - found["bands_in_common"]
    assert [rule["holds"] for rule in found["rules"]] == [False, True]
    by_fingerprint = compared(capsys, "--text", CALLED, CALLED_IN_OTHER_WORDS, near={"predicate": "simhash"})
    assert (by_fingerprint["near"], by_fingerprint["agreement_of_sketches"]) == (False, None)


@pytest.mark.parametrize(("k", "near"), [(7, False), (8, True), (64, True)])
def test_the_verdict_follows_the_k_that_is_given(k: int, near: bool, capsys: pytest.CaptureFixture[str]) -> None:
    simhash = {"predicate": "simhash"}
    assert compared(capsys, "--text", CALLED, CALLED_IN_OTHER_WORDS, "--k", str(k), near=simhash)["near"] is near


@pytest.mark.parametrize("bits", [8, 100, 128])
def test_any_width_can_be_compared(bits: int, capsys: pytest.CaptureFixture[str]) -> None:
    found = compared(capsys, "--text", CALLED, CALLED_IN_OTHER_WORDS, "--bits", str(bits))
    assert [len(found[side]["fingerprint"]) for side in "ab"] == [bits, bits]
    assert [len(found[side]["sums"]) for side in "ab"] == [bits, bits]
    assert found["blocks"]["in_common"] is None


def test_a_page_and_its_text_in_another_encoding_from_standard_input_are_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "美国雇员称内部有飞碟，曾看见灰色外星人。" * 5
    page = tmp_path / "page.html"
    page.write_bytes(PAGE.format(text).encode("gbk"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    found = compared(capsys, str(page), "-")
    assert found["distance"] == 0
    assert found["reason"] == "exact-text"
    assert (found["a"]["name"], found["b"]["name"]) == (str(page), "standard input")


@pytest.mark.parametrize(("times", "near", "told"), [(1, False, "at least 50 tokens"), (5, True, "at least 50 tokens")])
def test_a_text_that_its_title_does_not_announce_is_said_to_be_doubted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], times: int, near: bool, told: str
) -> None:
    appeal = "Tell us what you need, and one of our engineers will answer you. " * times
    for name, title in (("a.html", "Tropical fish"), ("b.html", "Birds of the north")):
        (tmp_path / name).write_text(f"<title>{title}</title><p>{appeal}</p>", encoding="utf-8")
    found = compared(capsys, str(tmp_path / "a.html"), str(tmp_path / "b.html"))
    assert (found["a"]["title"], found["b"]["title"]) == ("tropical fish", "birds of the north")
    assert found["a"]["doubt"] == found["b"]["doubt"] == 1
    assert found["near"] is near
    asked = found["rules"][0]["conditions"][-1]
    assert asked["holds"] is near
    assert told in asked["found"]


def test_a_text_of_too_few_words_has_no_fingerprint(capsys: pytest.CaptureFixture[str]) -> None:
    found = compared(capsys, "--text", "fish", "fish water salt")
    assert found["a"]["no_fingerprint_because"] == "1 feature, 3 are needed"
    assert found["distance"] is None
    assert run("--text", "fish", "fish water salt") == 0
    assert "A  no fingerprint, because: 1 feature, 3 are needed" in capsys.readouterr().out


def test_empty_texts_are_not_near(capsys: pytest.CaptureFixture[str]) -> None:
    assert compared(capsys, "--text", "", "")["near"] is False


SEA = ["fish", "water", "salt", "coral", "sand", "reef", "wave", "tide", "crab", "whale", "fish"]


def test_options_decide_on_weights_and_settings_on_the_layout(capsys: pytest.CaptureFixture[str]) -> None:
    texts = ("--text", " ".join(SEA), " ".join(SEA + SEA[:4] * 3))
    by_count = compared(capsys, *texts)
    of_each_once = compared(capsys, *texts, "--weights", "uniform", index={"layout": "8x8"})
    assert of_each_once["distance"] < by_count["distance"]
    assert (by_count["blocks"]["layout"], of_each_once["blocks"]["layout"]) == ("4x16", "8x8")


def test_only_so_much_of_a_file_is_read_as_of_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    long = tmp_path / "long"
    long.write_text("fish water salt " * 64 + "unread " * 1000)
    assert run(str(long), str(long), page={"max_bytes": 1024}) == 0
    printed = capsys.readouterr()
    assert f"{long}: only its first 1024 bytes are read (page.max_bytes)" in printed.err
    assert "unread" not in printed.out


def test_a_title_cannot_command_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    page.write_text("<title>\x1b[31mRed fish and its water</title><p>few words of it</p>")
    assert run(str(page), str(page)) == 0
    printed = capsys.readouterr().out
    assert "near only to pages of its title: 31mred fish and its water" in printed
    assert "\x1b" not in printed


def test_names_and_texts_cannot_command_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--text", "\x1b[31mred fish\n water salt", "\udcff bytes of no text") == 0
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert "\udcff" not in printed


def test_tagged_words_are_compared_as_they_are_cut_without_tags_punctuation_and_noise_words(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = "美国/ns “/w 51区/n ”/w 雇员/n 称/v 有/v ＵＦＯ/x ，/w 3.14/m 外星人/n"
    found = compared(capsys, "--text", "--tagged", words, words.replace("/n ", "/nz "))
    assert found["a"]["tokens"] == ["美国", "51区", "雇员", "称", "ufo", "3.14", "外星人"]
    assert "称 有" in [feature["word"] for feature in found["a"]["features"]]
    assert (found["distance"], found["reason"]) == (0, "exact-text")
    with_noise = compared(capsys, "--text", "--tagged", "我/r 看见/v 外星人/n", "的/u 我/r 了/u")
    assert (with_noise["a"]["tokens"], with_noise["b"]["tokens"]) == (["看见", "外星人"], [])


def test_a_text_tagged_as_it_would_be_cut_has_the_fingerprint_of_the_text(capsys: pytest.CaptureFixture[str]) -> None:
    tagged = "你/r 妈妈/n 喊/v 你/r 回家/v 吃饭/v 哦/y ，/w 回家/v 罗/y 回家/v 罗/y"
    ours = compared(capsys, "--text", "--tagged", tagged, tagged)["a"]
    cut = compared(capsys, "--text", CALLED, CALLED)["a"]
    of_the_text_itself = {"name", "ordinary_hashes"}
    assert {key: ours[key] for key in ours.keys() - of_the_text_itself} == {
        key: cut[key] for key in cut.keys() - of_the_text_itself
    }


def test_a_tagged_file_is_decoded_and_nothing_is_taken_for_markup(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "<p>/x 美国/ns 雇员/n 称/v 内部/f 飞碟/n 外星人/n </p>/x\n"
    (tmp_path / "a").write_bytes(words.encode("gbk"))
    (tmp_path / "b").write_bytes(words.encode("utf-8"))
    found = compared(capsys, "--tagged", str(tmp_path / "a"), str(tmp_path / "b"))
    assert found["a"]["tokens"] == ["<p>", "美国", "雇员", "称", "内部", "飞碟", "外星人", "</p>"]
    assert found["reason"] == "exact-text"


def test_a_file_that_is_no_page_is_refused_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "picture"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 100)
    with pytest.raises(UsageError, match="not-text") as raised:
        run(str(path), str(path))
    assert str(raised.value).startswith(f"{path} has no fingerprint")
    assert str(raised.value).endswith("give a page of HTML or a text")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b"", b"a" * 1_000_000),
        (b"<div>" * 10_000, "🎉".encode() * 1000),
        (b"\0" * 100_000, b"\xff\xfe"),
    ],
    ids=lambda content: f"{content[:5]!r} × {len(content)}",
)
def test_odd_files_end_in_a_comparison(
    tmp_path: Path, one: bytes, other: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "one").write_bytes(one)
    (tmp_path / "other").write_bytes(other)
    try:
        assert run(str(tmp_path / "one"), str(tmp_path / "other")) == 0
    except UsageError as error:
        assert str(tmp_path) in str(error)
        assert one[:1] == b"\0"
    else:
        assert "verdict at k = 3" in capsys.readouterr().out


def test_a_page_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    long, short = tmp_path / "long", tmp_path / "short"
    long.write_text("".join(f"word{number} " for number in range(300_000)))
    short.write_text("a short one")
    with pytest.raises(UsageError, match=rf"{long} has no fingerprint: parser-timeout.*page\.timeout_seconds"):
        run(str(long), str(short), page={"timeout_seconds": 0.5})


@pytest.mark.parametrize("answer", [b"", b"[]", b'{"bits": 64}', b"\xff", b"[" * 100_000])
def test_what_a_parser_answers_is_not_believed(answer: bytes) -> None:
    with pytest.raises(UsageError, match=r"the parser's answer on a\.html cannot be read"):
        explain._or_refuse(explain.Side("a.html", b"", PageMeta(url="a:")), answer)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("absent", "absent"), "absent cannot be read .*add --text if these are the texts themselves"),
        (("/", "/"), "/ cannot be read"),
        (("a\0b", "c"), "a\ufffdb cannot be read"),
        (("-", "-"), "standard input can be A or B"),
        (("--text", "a", "b", "--bits", "7"), "8 to 128"),
        (("--text", "a", "b", "--bits", "129"), "8 to 128"),
        (("--text", "a", "b", "--k", "-1"), "between 0 and 64"),
        (("--text", "a", "b", "--k", "9", "--bits", "8"), "between 0 and 8"),
    ],
)
def test_impossible_questions_say_what_to_ask_instead(words: tuple[str, ...], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        run(*words)


def test_a_width_that_the_hash_does_not_have_is_refused() -> None:
    with pytest.raises(UsageError, match="the hash bkdr has 64; leave --hash out"):
        run("--text", "a", "b", "--bits", "65", "--hash", "bkdr")


def test_pages_are_compared_by_the_key_of_the_crawl(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("the secret of this crawl\n")
    public = compared(capsys, "--text", CALLED, CALLED)
    keyed = compared(capsys, "--text", CALLED, CALLED, fingerprint={"key_file": key})
    assert (public["near"], keyed["near"], keyed["distance"]) == (True, True, 0)
    assert public["a"]["fingerprint"] != keyed["a"]["fingerprint"]
    assert "the secret" not in str(keyed)


def test_with_a_key_a_hash_has_64_bits_and_is_no_other(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("the secret of this crawl\n")
    with pytest.raises(UsageError, match=r"--bits 128: .*leave that out"):
        run("--text", CALLED, CALLED, "--bits", "128", fingerprint={"key_file": key})
    with pytest.raises(UsageError, match="--hash bkdr takes no key"):
        run("--text", CALLED, CALLED, "--hash", "bkdr", fingerprint={"key_file": key})


ARTICLE = "".join(f"<p>El río número {n} cruza la llanura despacio y llega al mar de noche.</p>" for n in range(5))
SITE = f"<title>t</title><nav><a href=/>Inicio</a></nav><h1>Ríos</h1><div>{ARTICLE}</div><div class=promo>Compra</div>"


def test_of_a_page_each_line_is_shown_with_the_rule_that_drops_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "page").write_text(SITE, encoding="utf-8")
    assert run("--blocks", str(tmp_path / "page")) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["unseen", "meaning", *["kept"] * 6, "named"]
    assert lines[2].split() == ["kept", "Ríos"]
    assert run("--blocks", "--json", str(tmp_path / "page")) == 0
    assert json.loads(capsys.readouterr().out)[:2] == [
        {"text": "t", "dropped_by": "unseen", "unseen_in": "title", "origin": None},
        {"text": "Inicio", "dropped_by": "meaning", "unseen_in": None, "origin": None},
    ]


def test_lines_that_stand_in_a_script_are_shown_with_their_origin(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = "Dos ríos cruzan la ciudad vieja y se encuentran al pie del puente nuevo."
    linked = f'<script type="application/ld+json">{{"@type": "Article", "articleBody": "{body}"}}</script>'
    (tmp_path / "page").write_text(f"<p>Bienvenidos</p>{linked}", encoding="utf-8")
    assert run("--blocks", str(tmp_path / "page")) == 0
    assert capsys.readouterr().out.splitlines() == [
        "embedded      Bienvenidos",
        f"from JSON-LD  {body}",
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--blocks", "a", "b"), "--blocks shows one page of a file; leave B and all other sources and forms out"),
        (
            ("--blocks", "--tagged", "a"),
            "--blocks shows one page of a file; leave B and all other sources and forms out",
        ),
        (("a",), "there is nothing to compare A with; give B"),
    ],
)
def test_one_page_has_blocks_and_two_are_compared(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        run(*words)


def test_blocks_are_of_pages(tmp_path: Path) -> None:
    (tmp_path / "picture").write_bytes(b"\x89PNG\r\n")
    with pytest.raises(UsageError, match=r"picture has no blocks: .*give a page of HTML or a text"):
        run("--blocks", str(tmp_path / "picture"))


def test_a_page_for_a_browser_is_written_and_shows_both_texts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "why.html"
    assert run("--text", CALLED, CALLED_IN_OTHER_WORDS, "--html", str(out)) == 0
    assert capsys.readouterr().out == f"written to {out}\n"
    page = out.read_text(encoding="utf-8")
    assert "<del>喊</del>" in page
    assert "<ins>叫</ins>" in page
    with pytest.raises(UsageError, match=r"cannot be written \(Is a directory\); name another file"):
        run("--text", CALLED, CALLED, "--html", str(tmp_path))


def test_two_urls_of_a_state_are_compared_by_their_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    urls = [f"http://{name}.example/" for name in "ab"]
    with Deduplicator(tmp_path / "state", Settings.model_validate({"index": {"memory_mb": 0}})) as local:
        for url, words in zip(urls, (SEA, SEA[::-1]), strict=True):
            assert local.judge(url, text=" ".join(words)).verdict == "unique"
    found = compared(capsys, "--state", str(tmp_path / "state"), *(url.upper() for url in urls))
    whole = compared(capsys, "--text", *(" ".join(words) for words in (SEA, SEA[::-1])))
    assert (found["near"], found["distance"], found["rules"]) == (False, whole["distance"], whole["rules"])
    assert (found["moved"], found["agreement_of_sketches"]) == (None, whole["agreement_of_sketches"])
    assert run("--state", str(tmp_path / "state"), *urls, "--html", str(tmp_path / "why.html")) == 0
    assert "records hold no text" in (tmp_path / "why.html").read_text(encoding="utf-8")
    capsys.readouterr()
    assert run("--state", str(tmp_path / "state"), *urls) == 0
    assert capsys.readouterr().out.splitlines()[:2] == [f"A  {url}  11 tokens" for url in urls[:1]] + [
        f"B  {urls[1]}  11 tokens"
    ]


def test_pages_of_a_state_without_urls_are_named_by_their_ids(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ids = ["a/b ü 1", "shop:17"]
    with Deduplicator(tmp_path / "state", Settings.model_validate({"index": {"memory_mb": 0}})) as local:
        for id_, words in zip(ids, (SEA, SEA[::-1]), strict=True):
            assert local.judge(text=" ".join(words), id=id_).verdict == "unique"
    for given in (ids, map(url_of_id, ids)):
        assert run("--state", str(tmp_path / "state"), *given) == 0
        told = capsys.readouterr().out
        assert told.splitlines()[:2] == ["A  a/b ü 1  11 tokens", "B  shop:17  11 tokens"] and "record:" not in told
    with pytest.raises(UsageError, match=r"has kept nothing of c/d: .*duplicate_of_id"):
        run("--state", str(tmp_path / "state"), "c/d", ids[0])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--topic", "a b", "http://a/"), "a b is no URL of a page .*give one with its scheme"),
        (("--state", "s", "http://", "a b"), "http:// is no URL of a page .*give one with its scheme"),
        (
            ("--state", "s", "http://a/", "http://b/", "--bits", "32"),
            "leave --bits, --tagged, --weights and --hash out",
        ),
        (("--topic", "http://a/", "http://b/", "--last", "0"), "--last 0"),
        (("--topic", "--tagged", "http://a/", "http://b/"), "leave --tagged out"),
    ],
)
def test_what_records_and_the_topic_cannot_tell_is_refused(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        run(*words)
