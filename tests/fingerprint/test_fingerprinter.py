"""A page's body → its fingerprint."""

from __future__ import annotations

import pickle
from functools import partial
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_plugin.wire.errors import PageError
from crawler_plugin.wire.page_headers import PageMeta
from tests.fingerprint.definition.fingerprint import Definition
from tests.fingerprint.definition.sketch import bands, sketch
from worker.evaluate.literature.explained import Explainer
from worker.evaluate.literature.measures import hamming
from worker.evaluate.literature.simhash import simhash
from worker.evaluate.literature.weights import SCALE
from worker.fingerprint.fingerprinted import Fingerprinted
from worker.fingerprint.fingerprinter import EXTRACT, FINGERPRINT, SEGMENT, Fingerprinter, Recipe
from worker.fingerprint.hashing import hash_content, hash_words
from worker.fingerprint.key import Key
from worker.fingerprint.near import AccurateNear, Match, SimHashNear, share_a_band
from worker.fingerprint.scoped import ScopedNear
from worker.page.extract import Extracted
from worker.page.main_text.title_evidence import read_title
from worker.pool.frames import pack

CALLED = "你妈妈喊你回家吃饭哦，回家罗回家罗"
CALLED_IN_OTHER_WORDS = "你妈妈叫你回家吃饭啦，回家罗回家罗"
UNRELATED = [
    "美国“51区”雇员称内部有9架飞碟，曾看见灰色外星人",
    "今天股市大幅上涨，投资者情绪高涨",
    "上海地铁三号线延误二十分钟，乘客耐心等待",
    "Tropical fish include fish found in tropical environments around the world",
]
URL = "https://example.org/a"


@pytest.fixture(scope="module")
def fingerprinter() -> Fingerprinter:
    return Fingerprinter(Recipe())


@pytest.mark.parametrize(
    ("text", "fingerprint", "tokens", "language"),
    [
        (CALLED, 0x1479B4DA36F8EF7C, 16, "zh"),
        (
            "Tropical fish include fish found in tropical environments around the world, including both freshwater "
            "and salt water species.",
            0xA68FEBB89FB81702,
            18,
            "latin",
        ),
        ("苹果发布iPhone 15，售价5999元起；Apple Watch Series 9同步上市。", 0xB01F90867D41D8B0, 19, "zh"),
        ("日本語の文章も、きちんと処理できます。한국어 문장도 됩니다.", 0x7F826B842A53FB93, 20, "ja"),
        ("ＦＵＬＬ\u3000ＷＩＤＴＨ text and Café, ﬁne ligatures", 0x0481DFD1723C467F, 7, "latin"),
        ("\ud83d broken \0surrogate and NUL bytes here", 0xF06365E8B8247B20, 6, "latin"),
        ("中文\u200b零宽\u200b字符测试文本样例", 0xAFEBF315E468DE94, 12, "zh"),
    ],
)
def test_fingerprints_stay_what_they_are(
    fingerprinter: Fingerprinter, text: str, fingerprint: int, tokens: int, language: str
) -> None:
    """Pinned: an index on disk holds such values. A change here needs another name in the scheme."""
    made = fingerprinter.of_text(text, URL)
    assert made.fingerprint is not None
    assert f"{made.fingerprint:016x}" == f"{fingerprint:016x}"
    assert (made.tokens, made.language, made.reason) == (tokens, language, None)


@given(st.lists(st.sampled_from(["apple", "pear", "the", "cherry", "grape", "飞碟", "外星人", "的"]), min_size=2))
def test_the_fingerprint_is_the_definition_over_hashed_words_and_pairs(tokens: list[str]) -> None:
    words = [token for token in tokens if token not in ("the", "的")]
    pairs = [f"{a} {b}" for a, b in pairwise(tokens)]
    weights = {word: SCALE * words.count(word) for word in words}
    weights |= {pair: SCALE * pairs.count(pair) // max(1, len(set(words))) for pair in pairs}
    most = sum(weights.values()) // 5
    made = _SHARED.of_text(" ".join(tokens), URL)
    if len(weights) < 3:
        assert made.fingerprint is None
    else:
        capped = [min(weight, most) for weight in weights.values()]
        assert made.fingerprint == simhash(hash_words(list(weights)).tolist(), capped, 64)


_SHARED = Fingerprinter(Recipe())


def test_a_word_that_outweighs_all_others_is_the_fingerprint(fingerprinter: Fingerprinter) -> None:
    made = fingerprinter.of_text("fish " * 300 + "tropical water in salt and fresh", URL)
    assert [made.fingerprint] == hash_words(["fish"]).tolist()


def test_two_sentences_that_say_the_same_are_near_and_far_from_others(fingerprinter: Fingerprinter) -> None:
    a, b, *others = (
        fingerprinter.of_text(text, URL).fingerprint for text in (CALLED, CALLED_IN_OTHER_WORDS, *UNRELATED)
    )
    assert a is not None and b is not None
    apart = hamming(a, b)
    assert apart <= 10
    for other in others:
        assert other is not None
        assert min(hamming(a, other), hamming(b, other)) >= apart + 15


@pytest.mark.parametrize("word", ["51区", "9架"])
def test_a_word_of_the_user_dictionary_stays_whole(fingerprinter: Fingerprinter, word: str) -> None:
    text = UNRELATED[0]
    own = Fingerprinter(Recipe(user_words=("51区", "9架")))
    assert word in own.reader.tokens(text).words
    assert word not in fingerprinter.reader.tokens(text).words


@pytest.mark.parametrize(
    ("text", "minimum", "reason"),
    [
        ("", 3, "no features, 3 are needed"),
        ("的 the and", 3, "2 features, 3 are needed"),
        ("的", 3, "no features, 3 are needed"),
        ("🎉🎉🎉", 3, "no features, 3 are needed"),
        ("fish", 3, "1 feature, 3 are needed"),
        ("fish fish fish fish", 3, "2 features, 3 are needed"),
        ("fish water", 3, None),
        ("fish water", 4, "3 features, 4 are needed"),
        ("fish water salt", 3, None),
        ("fish", 1, None),
    ],
)
def test_too_few_features_make_no_fingerprint_and_say_why(text: str, minimum: int, reason: str | None) -> None:
    made = Fingerprinter(Recipe(minimum=minimum)).of_text(text, URL)
    assert made.reason == reason
    assert (made.fingerprint is None) == (reason is not None)


def without_hints(made: Fingerprinted) -> Fingerprinted:
    """The values that depend on the text alone: a page's title and address are left out."""
    return msgspec.structs.replace(made, site=0, title=0, title_words=0, doubt=0, template=0)


SHELL = b"<!doctype html><title></title><div id=root></div><script src=/app.js></script>"
"""A page that scripts fill."""


@pytest.mark.parametrize(
    ("a", "b", "reason"),
    [
        (SHELL, SHELL, "exact-bytes"),
        (SHELL, SHELL.replace(b"/app.js", b"/app.2.js"), None),
        (b"", b"", None),
        (b" ", b" ", "exact-bytes"),
        (b" ", b"\t", None),
        ("\u200b!?… 🎉".encode(), "\u200b!?… 🎉".encode(), "exact-bytes"),
        (b"!?", b"!?!", None),
        (b"fish", b"FISH!", "exact-text"),
        (b"", URL.encode(), None),
        (SHELL, SHELL + b" " * 5000, None),
    ],
    ids=[
        "shells of the same bytes",
        "shells of other bytes",
        "no bytes",
        "blanks",
        "other blanks",
        "punctuation",
        "other punctuation",
        "a word",
        "no bytes, and a text that is its address",
        "bytes that differ behind what is read of a page",
    ],
)
def test_pages_without_a_word_are_alike_by_their_bytes_and_empty_ones_never(
    a: bytes, b: bytes, reason: str | None
) -> None:
    fingerprinter = Fingerprinter(Recipe(sketched=True, max_bytes=1024))
    one = fingerprinter.of_page(a, PageMeta(url=URL))
    other = fingerprinter.of_page(b, PageMeta(url="https://example.org/b"))
    for near in (SimHashNear(64), AccurateNear()):
        assert near(one, other) == (None if reason is None else Match(None, reason))


def test_an_empty_page_is_the_same_page_when_it_is_fetched_again(fingerprinter: Fingerprinter) -> None:
    first, again = (fingerprinter.of_page(b"", PageMeta(url=URL)) for _ in range(2))
    assert SimHashNear(3)(first, again) is not None


def test_no_hash_of_a_text_is_that_of_the_bytes_or_the_address_that_it_is_spelled_like() -> None:
    tokens = hash_words(["fish", "water"])
    none = hash_words([])
    found = {
        hash_content(tokens, b"", ""),
        hash_content(none, tokens.astype("<u8").tobytes(), ""),
        hash_content(none, b"https://a/", ""),
        hash_content(none, b"", "https://a/"),
    }
    assert len(found) == 4


def test_bytes_in_the_form_of_text_are_those_of_the_text_in_utf8(fingerprinter: Fingerprinter) -> None:
    text = "…—🎉"
    made = fingerprinter.of_page(text.encode(), PageMeta(url=URL, form="text"))
    assert without_hints(made) == fingerprinter.of_text(text, "https://example.org/elsewhere")


def test_short_pages_of_the_same_text_are_alike_however_it_is_spelled(fingerprinter: Fingerprinter) -> None:
    match = SimHashNear(3)(
        fingerprinter.of_text("Hello,  World", "https://a.example/"),
        fingerprinter.of_text("ｈｅｌｌｏ, world\n", "https://b.example/"),
    )
    assert match is not None and match.reason == "exact-text"


def test_the_text_hash_stands_for_the_tokens(fingerprinter: Fingerprinter) -> None:
    tokens = hash_words(["tropical", "鱼", "的"])
    for text in ("Tropical  鱼的", "tropical: 鱼、的。", "(ＴＲＯＰＩＣＡＬ 鱼的 🎉)"):
        assert fingerprinter.of_text(text, URL, b"any bytes").text_hash == hash_content(tokens, b"", "")


def test_the_main_text_of_a_page_counts_and_its_encoding_does_not(fingerprinter: Fingerprinter) -> None:
    page = "<html><head><meta charset='{}'><title>飞碟</title></head><body><p>{}</p></body></html>"
    text = "美国雇员称内部有飞碟，曾看见灰色外星人。" * 5
    made = {
        fingerprinter(page.format(name, text).encode(name), PageMeta(url=URL, content_type="text/html"))
        for name in ("utf-8", "gbk", "gb18030")
    }
    assert set(map(without_hints, made)) == {fingerprinter.of_text(text, URL)}


def test_a_page_tells_its_stages_as_it_comes_to_them() -> None:
    told: list[str] = []
    fingerprinter = Fingerprinter(Recipe())
    fingerprinter.begin = told.append
    meta = PageMeta(url=URL, content_type="text/html")
    fingerprinter(f"<p>{CALLED}</p>".encode(), meta)
    assert told == [EXTRACT, SEGMENT, FINGERPRINT]
    with pytest.raises(PageError):
        fingerprinter(b"\x89PNG\r\n", meta)
    assert told[3:] == [EXTRACT], "what a page takes that is none counts where it was found to be none"


def test_an_item_in_the_form_of_text_is_not_parsed(fingerprinter: Fingerprinter) -> None:
    text = "<p>fish</p> <b>water</b> salt 飞碟"
    made = fingerprinter.of_page(text.encode(), PageMeta(url=URL, form="text"))
    assert without_hints(made) == fingerprinter.of_text(text, URL)
    assert "p" in fingerprinter.reader.tokens(text).words


def test_only_the_first_bytes_of_a_long_text_are_read() -> None:
    text = "fish water salt " * 10
    short = Fingerprinter(Recipe(max_bytes=len(text)))
    meta = PageMeta(url=URL, form="text")
    assert short.of_page((text + "unread " * 99).encode(), meta) == short.of_page(text.encode(), meta)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\0" * 100_000,
        b"a" * 1_000_000,
        "飞".encode() * 300_000,
        b"\xff\xfe\xfd" * 1000,
        b"\xc3\x28 malformed \xe2\x82 utf-8",
        "一段没有标记的文字，UTF-16。".encode("utf-16-le"),
        "🎉🐟🎈".encode() * 100,
        b"<div>" * 10_000 + b"deep",
        b"<a title='" + b"x" * 1_000_000 + b"'>attribute</a>",
    ],
    ids=lambda body: f"{body[:8]!r} × {len(body)}",
)
def test_bad_bodies_make_a_fingerprint_or_say_why_not(fingerprinter: Fingerprinter, body: bytes) -> None:
    try:
        made = fingerprinter.of_page(body, PageMeta(url=URL, content_type="text/html"))
    except PageError as error:
        assert error.reason
    else:
        assert (made.fingerprint is None) == bool(made.reason)
        assert made.fingerprint is None or 0 <= made.fingerprint < 2**64


def test_a_recipe_travels_to_a_parsing_process_and_what_comes_back_is_small(fingerprinter: Fingerprinter) -> None:
    recipe = Recipe(user_words=("51区", ("9架", 5, "n")))
    factory = pickle.loads(pickle.dumps(partial(Fingerprinter, recipe)))
    text = "fish water salt 51区"
    made = factory().of_text(text, URL)
    assert made == Fingerprinter(recipe).of_text(text, URL)
    packed = pack(made)
    assert len(packed) < 100
    assert msgspec.msgpack.decode(packed, type=Fingerprinted) == made


APPEAL = "We value your privacy. Tell us what you need, and one of our engineers will answer within the day. " * 3


def page_of(title: str, text: str) -> bytes:
    return f"<!doctype html><title>{title}</title><main><h1>{title}</h1><p>{text}</p></main>".encode()


def test_pages_of_one_template_and_site_are_near_only_under_one_title() -> None:
    fingerprinter, near = Fingerprinter(Recipe(sketched=True)), ScopedNear(AccurateNear())

    def made(title: str, text: str, host: str = "example.org") -> Fingerprinted:
        meta = PageMeta(url=f"https://{host}/a", content_type="text/html")
        return fingerprinter.of_page(page_of(title, text), meta)

    fish = made("Tropical fish | Site 3", APPEAL)
    same = made("Print: TROPICAL FISH | Site 3", f"{APPEAL} Thank you.")
    birds = made("Birds of the north | Site 3", APPEAL)
    assert near.near(fish, same) and near.comparable(fish, same)
    assert near.near(fish, birds) and not near.comparable(fish, birds)
    assert near.comparable(fish, made("Birds of the north | Site 4", APPEAL, "example.com")), "equal texts on two sites"


def test_articles_are_near_under_titles_alike_on_one_site_and_under_any_on_two() -> None:
    fingerprinter, near = Fingerprinter(Recipe(sketched=True)), ScopedNear(AccurateNear())
    ours, alike, other, theirs = (
        fingerprinter.of_page(
            page_of(title, f"Tropical fish and birds of the north: {APPEAL}"),
            PageMeta(url=f"https://{host}/", content_type="text/html"),
        )
        for title, host in (
            ("Tropical fish", "example.org"),
            ("Of tropical fish", "example.org"),
            ("Birds of the north", "example.org"),
            ("Birds of the north", "example.com"),
        )
    )
    assert all(near.near(ours, each) for each in (alike, other, theirs))
    assert [near.comparable(ours, each) for each in (alike, other, theirs)] == [True, False, True]


@pytest.mark.parametrize("key", [None, Key.of(b"k" * 32)])
@pytest.mark.parametrize("text", [APPEAL, "fish water", "", "飞碟 有 九架"])
def test_what_a_text_is_shown_with_moves_all_of_it_by_the_same_and_in_all_ways_of_making_it(
    text: str, key: Key | None
) -> None:
    fingerprinter = Fingerprinter(Recipe(sketched=True, key=key))
    plain, fish, same, birds = (
        fingerprinter.of_text(text, URL, shown=shown) for shown in ((), ("12", "Fish ab"), ("12", "FISH-ab"), ("13",))
    )
    assert fish == same
    assert Definition(fingerprinter.recipe).of_text(text, URL, ("12", "fish ab")) == fish
    explained = Explainer(fingerprinter.recipe).explain(Extracted(text, "utf-8", shown=("12", "fish ab")), URL)
    assert (explained.fingerprint, explained.text_hash) == (fish.fingerprint, fish.text_hash)
    assert (explained.sketch, explained.bands) == (fish.sketch, fish.bands)
    if text:
        assert len({plain.text_hash, fish.text_hash, birds.text_hash}) == 3
    else:
        assert plain == fish == birds, "where there is no text the body stands for the page"
    if plain.fingerprint is not None:
        assert not share_a_band(plain.bands, fish.bands)
        assert not share_a_band(fish.bands, birds.bands)


@pytest.mark.parametrize("key", [None, Key.of(b"k" * 32)])
def test_site_and_title_are_told_apart_and_a_doubted_page_without_a_title_agrees_with_itself(key: Key | None) -> None:
    fingerprinter = Fingerprinter(Recipe(key=key))

    def standing(title: str, url: str, doubted: bool = False, all_shown: str = "") -> tuple[int, int, int, int]:
        thing = read_title(title, ("Harbour Post",))
        page = Extracted("text", "utf-8", title, doubted=doubted, thing=thing, all_shown=all_shown)
        return _standing(fingerprinter.of_extracted(page, url))

    site, title, words, doubt = standing("The whale", "https://www.harbour.example/1")
    assert site and title and not title & 1 and 0 < words.bit_count() <= 2 and doubt == 0
    assert standing("the WHALE | Harbour Post", "https://m.harbour.example/2", True) == (site, title, words, 1)
    assert standing("The whale", "https://a.example/1")[0] != site
    assert standing("The whale", "record://id/7") == (0, title, words, 0), "an id has no site"
    alone, refetched, other = (standing("Harbour Post", f"https://a.example/{n}", True) for n in (1, 1, 2))
    assert alone == refetched != other
    assert alone[1] & 1 and alone[2] == 0
    one, same, another = (standing("Harbour Post", f"https://a.example/{n}", True, f"{n % 2}") for n in (1, 3, 4))
    assert one == same != another
    assert one[1] & another[1] & 1
    assert standing("Harbour Post", "https://a.example/1")[1] == 0


def _standing(made: Fingerprinted) -> tuple[int, int, int, int]:
    return made.site, made.title, made.title_words, made.doubt


def test_sketches_are_made_where_the_recipe_asks_for_them_and_the_text_has_a_fingerprint() -> None:
    sketching = Fingerprinter(Recipe(sketched=True))
    text = "美国雇员称内部有飞碟，fish in the water"
    made = sketching.of_text(text, URL)
    units = hash_words(["美", "国", "雇", "员", "称", "内", "部", "有", "飞", "碟", "fish", "in", "the", "water"])
    assert (made.sketch, made.bands) == (sketch(units), bands(units))
    plain = _SHARED.of_text(text, URL)
    assert (plain.sketch, plain.bands, plain.fingerprint) == (b"", b"", made.fingerprint)
    short = sketching.of_text("fish fish", URL)
    assert (short.sketch, short.bands, short.fingerprint) == (b"", b"", None)


def test_the_url_that_a_page_calls_its_own_is_told_where_the_recipe_asks_for_it() -> None:
    asking = Fingerprinter(Recipe(addressed=True))

    def own(head: str, encoding: str = "utf-8") -> str | None:
        page = f"<meta charset={encoding}>{head}<p>{CALLED}".encode(encoding)
        return asking.of_page(page, PageMeta(url=URL, content_type="text/html")).own

    assert own("<link rel=canonical href=/b>") == "https://example.org/b"
    assert own("") == ""
    # a reader of the plain bytes would read these differently, or at length
    assert own("<link rel=canonical href=/页>") is None
    assert own("<link rel=canonical href=/b>", "gb18030") is None
    assert own(f"<link rel=canonical href=/{'b' * 5000}>") is None
    assert _SHARED.of_page(b"<link rel=canonical href=/b>", PageMeta(url=URL)).own is None
