"""Bytes of a page → text, however wrongly the page is labelled.

Order of belief, from what the bytes prove to what they merely suggest:

1. a byte order mark (UTF-8, UTF-16);
2. UTF-16 without one: text in UTF-16 holds control bytes, which text in any other encoding does not;
3. valid UTF-8, or UTF-8 in which at most a tenth of what is not ASCII is damaged: bytes of another encoding are
   practically never that. So a page that calls itself GBK or windows-1252 and is UTF-8 is read as UTF-8;
4. what the page is said to be: charset of the HTTP header, encoding given by the crawler, then ``<meta>`` or XML
   declaration in the first kilobyte. Labels mean what browsers take them for (WHATWG Encoding Standard, section 4.2).
   A label is dropped where the bytes speak against it: too many undecodable bytes, rare characters only in a
   multi-byte encoding, or bytes above 127 in runs where a Western page has single accents. The last two matter
   because every single-byte encoding "decodes" everything, and Big5 "decodes" as GBK;
5. the East Asian encoding in which the text has enough of its language's most frequent characters;
6. the detector that is handed in, for scripts written in single bytes: Cyrillic, Greek, Hebrew, Arabic, Thai;
7. windows-1252, as in browsers.

A pure function: no clock, no file, no locale.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import numpy as np

DECODER: Final = "decode-1"
"""Name of the rule above; a part of the scheme, so change it when the rule changes."""

Detector = Callable[[bytes], str | None]
"""Name of the encoding that a sample seems to be in, in any spelling, or None."""

SAMPLE_BYTES: Final = 16 * 1024
MAX_DAMAGE: Final = 0.1
"""Largest share of undecodable among the non-ASCII characters: a GBK page read as UTF-8 has above .8."""
MAX_CONTROLS: Final = 0.05
"""Largest share of control bytes in text: random bytes, so all that is compressed, have .11."""
MIN_FREQUENT: Final = 0.12
"""Share of frequent characters from which an undeclared East Asian reading is believed at all."""
SURELY_FREQUENT: Final = 0.45
"""Share from which a declared reading is believed without a look at the others; Big5 read as GBK reaches .4."""

_BOMS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))

_LABELS: Final = {
    "gb18030": "gb18030 gbk gb2312 x-gbk chinese csgb2312 csiso58gb231280 gb_2312 gb_2312-80 iso-ir-58 cp936 ms936 "
    "windows-936 euc-cn eucgb2312_cn hz hz-gb-2312",
    "big5hkscs": "big5 big5-hkscs big5hkscs cn-big5 csbig5 x-x-big5 cp950",
    "cp932": "shift_jis shift-jis sjis x-sjis ms_kanji csshiftjis ms932 windows-31j cp932",
    "euc_jp": "euc-jp euc_jp x-euc-jp cseucpkdfmtjapanese",
    "iso2022_jp": "iso-2022-jp iso2022_jp csiso2022jp",
    "cp949": "euc-kr euc_kr cseuckr ks_c_5601-1987 ks_c_5601-1989 ks_c_5601 ksc5601 ksc_5601 korean windows-949 cp949 "
    "uhc csksc56011987 iso-ir-149",
    "cp1252": "windows-1252 cp1252 x-cp1252 iso-8859-1 iso8859-1 iso_8859-1 latin1 latin-1 l1 ascii us-ascii "
    "ansi_x3.4-1968 cp819 ibm819 csisolatin1 iso88591 iso_8859-1:1987",
    "cp1254": "windows-1254 cp1254 x-cp1254 iso-8859-9 iso8859-9 latin5 l5",
    "cp874": "windows-874 cp874 tis-620 dos-874 iso-8859-11 iso8859-11",
    "utf-8": "utf-8 utf8 unicode-1-1-utf-8 x-unicode20utf8 utf_8",
    "utf-16-le": "utf-16 utf-16le utf-16-le unicode ucs-2 iso-10646-ucs-2 csunicode",
    "utf-16-be": "utf-16be utf-16-be unicodefffe",
    "mac_roman": "macintosh mac x-mac-roman csmacintosh mac-roman",
    "mac_cyrillic": "x-mac-cyrillic x-mac-ukrainian mac-cyrillic",
    "koi8-r": "koi8-r koi8 koi koi8_r cskoi8r",
    "koi8-u": "koi8-u koi8-ru",
    "cp866": "ibm866 cp866 866 csibm866",
}
_SINGLE_BYTE: Final = [*(f"cp{page}" for page in (1250, 1251, 1253, 1255, 1256, 1257, 1258))]
_ISO: Final = (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)
_CODECS: Final[dict[str, str]] = (
    {label: codec for codec, labels in _LABELS.items() for label in labels.split()}
    | {label: codec for codec in _SINGLE_BYTE for label in (codec, f"windows-{codec[2:]}", f"x-{codec}")}
    | {label: f"iso8859-{n}" for n in _ISO for label in (f"iso-8859-{n}", f"iso8859-{n}", f"iso_8859-{n}")}
    | {"iso-8859-8-i": "iso8859-8", "latin2": "iso8859-2", "latin9": "iso8859-15", "cyrillic": "iso8859-5"}
)
_EAST_ASIAN: Final = ("gb18030", "big5hkscs", "cp932", "euc_jp", "cp949")
_CYRILLIC: Final = ("cp1251", "koi8-r", "koi8-u", "iso8859-5", "cp866", "mac_cyrillic")
_OTHER_SCRIPTS: Final = (*_CYRILLIC, "cp1253", "iso8859-7", "cp1255", "iso8859-8", "cp1256", "iso8859-6", "cp874")

_DECLARATION: Final = re.compile(
    rb"""<meta[^>]{0,400}?charset\s*+=\s*+["']?+\s*+([a-z0-9_:.\-]{2,40})|<\?xml[^>]{0,200}?encoding\s*=\s*["']([a-z0-9_:.\-]{2,40})""",
    re.IGNORECASE,
)
_HEADER_CHARSET: Final = re.compile(r"""charset\s*+=\s*+["']?+\s*+([a-z0-9_:.\-]{2,40})""", re.IGNORECASE)

_CONTROL_BYTES: Final = bytes([*range(0x09), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)])
_ESCAPE: Final = 0x1B
_NOT_ASCII: Final = re.compile(rb"[\x80-\xff]")
_ASCII_RUN: Final = re.compile(r"[\x00-\x7f]+")
_UTF16_TEXT: Final = re.compile(
    "[\\u00a0-\\u024f\\u0370-\\u052f\\u0590-\\u06ff\\u0e00-\\u0e7f\\u2010-\\u2bff\\u3000-\\u30ff\\u4e00-\\u9fff"
    "\\uac00-\\ud7a3\\uff00-\\uffef]+"
)
_ASCII_TEXT: Final = re.compile("[\\t\\n\\r\\x20-\\x7e]+")
# The characters that fill a third to nine tenths of any text in their language: simplified and traditional Chinese,
# kana, Hangul syllables; with the punctuation that the three write in two bytes.
_FREQUENT_CHARACTERS: Final = (
    "、。，：；！？（）《》「」“”"
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多"
    "经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性"
    "知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位"
    "次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活尔更别打女变四神总何电数安少报才结反受目太量再"
    "感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展马科司五基眼书非则听白却界达光放强即像难且权思王象完设"
    "式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确传师观清今切院让识候带导争运请选择文件网页版登录首"
    "這個們來為國說時會對過發後裡經麼學當沒動還進樣開從實軍無與長機關點業將兩間問戰頭體見產話給門東聲員論處義幾認條氣題爾別"
    "變總電數報結務場計資許統區隊決馬書則聽卻達強難權設記類據邊張該規萬覺術領確傳師觀讓識帶導爭運請選擇網頁"
    "이다는의에을가고하지한로기사도은를리스시서자어대인으나과있들해수보전일아정라그장부주제구조상선공원세용위모게적소면경여화만성동비"
    "니안유국신방무오내저든오러와계습된것없않"
)
_FREQUENT: Final = re.compile(f"[{_FREQUENT_CHARACTERS}]+")
# Kana has the same bytes in EUC-JP and GBK, so it says something only where the reading is Japanese.
_FREQUENT_IN_JAPANESE: Final = re.compile(f"[{_FREQUENT_CHARACTERS}\u3041-\u30ff]+")


class Decoded(NamedTuple):
    """``encoding`` is the name of Python's codec that ``text`` was decoded with."""

    text: str
    encoding: str


class UndecodableError(ValueError):
    """The bytes are text in no encoding."""


def decode(body: bytes, declared: Iterable[str | None] = (), *, detect: Detector = lambda sample: None) -> Decoded:
    """The text of ``body``, by the order of belief above; undecodable bytes become U+FFFD, NULs are left out.

    ``declared`` are labels that came with the page, the most trusted first: HTTP header, then crawler.

    Raises:
        UndecodableError: control bytes say that this is no text at all.
    """
    for mark, codec in _BOMS:
        if body.startswith(mark):
            return _read(body[len(mark) :], codec)
    if b"\0" not in body:
        try:
            decoded = Decoded(body.decode(), "utf-8")
        except UnicodeDecodeError:
            pass
        else:
            return _stateful(body, declared) or decoded
    return _decode_doubtful(body, [*declared, _declared_inside(body)], detect)


def header_charset(content_type: str | None) -> str | None:
    """The charset of a Content-Type header."""
    found = _HEADER_CHARSET.search(content_type or "")
    return found[1] if found else None


def codec_of(label: str | None) -> str | None:
    """Python's codec for an encoding's label, as browsers understand it; None for none or an unknown one."""
    return _CODECS.get(label.strip().lower()) if label else None


def _decode_doubtful(body: bytes, labels: list[str | None], detect: Detector) -> Decoded:
    utf16 = _utf16_without_mark(body)
    if utf16:
        return _read(body, utf16)
    as_utf8 = _read(body, "utf-8")
    if _damage(as_utf8.text) <= MAX_DAMAGE:
        return as_utf8
    if _controls(body[:SAMPLE_BYTES]) > MAX_CONTROLS:
        raise UndecodableError("neither UTF-8 nor UTF-16, and more control bytes than any text has")
    for codec in filter(None, map(codec_of, labels)):
        reading = _read(body, codec)
        if _believable(reading, body):
            return reading
    found = _east_asian(body) or _other_script(body, detect) or "cp1252"
    return _read(body, found)


def _read(body: bytes, codec: str) -> Decoded:
    return Decoded(body.decode(codec, "replace").replace("\0", ""), codec)


def _declared_inside(body: bytes) -> str | None:
    found = _DECLARATION.search(body, 0, 1024)
    return (found[1] or found[2]).decode("ascii") if found else None


def _stateful(body: bytes, declared: Iterable[str | None]) -> Decoded | None:
    """ISO-2022-JP is pure ASCII to the eye, so only escape sequences and a label together tell it."""
    # One byte is found at the speed of memory, two are not: this looks at every page to its end.
    if _ESCAPE not in body or b"\x1b$" not in body:
        return None
    if "iso2022_jp" not in map(codec_of, [*declared, _declared_inside(body)]):
        return None
    reading = _read(body, "iso2022_jp")
    return reading if _damage(reading.text) <= MAX_DAMAGE else None


def _utf16_without_mark(body: bytes) -> str | None:
    """``utf-16-le`` or ``-be`` if the bytes are text in it."""
    sample = body[:SAMPLE_BYTES]
    if _controls(sample) <= 0.01:
        return None  # a few stray ones: damaged text of another kind
    if len(body) % 2 and len(body) < SAMPLE_BYTES:
        return None  # a longer one may have been cut
    sample = sample[: len(sample) // 2 * 2]

    def share(codec: str) -> tuple[float, int]:
        text = sample.decode(codec, "replace")
        ascii_characters = len(text) - len(_ASCII_TEXT.sub("", text))
        others = len(text) - len(_UTF16_TEXT.sub("", text))
        return (ascii_characters + others) / max(1, len(text)), ascii_characters

    (little, little_ascii), (big, big_ascii) = share("utf-16-le"), share("utf-16-be")
    # ASCII in the wrong byte order is plausible Chinese, Chinese in the wrong order is hardly ever ASCII.
    if max(little, big) < 0.9:
        return None
    return "utf-16-le" if (little >= 0.9, little_ascii, little) >= (big >= 0.9, big_ascii, big) else "utf-16-be"


def _controls(sample: bytes) -> float:
    return 1 - len(sample.translate(None, _CONTROL_BYTES)) / max(1, len(sample))


def _damage(text: str) -> float:
    """Share of replacement characters among what is not ASCII."""
    bad = text.count("\ufffd")
    return bad / len(_ASCII_RUN.sub("", text)) if bad else 0.0


def _believable(reading: Decoded, body: bytes) -> bool:
    if reading.encoding.startswith("utf"):
        return False  # the bytes have already been found to be neither
    if _damage(reading.text) > MAX_DAMAGE:
        return False
    if reading.encoding in _EAST_ASIAN:
        own = _frequent(_sample(body), reading.encoding)
        return own >= SURELY_FREQUENT or _east_asian(body, doubting=own) is None
    if reading.encoding == "cp1252":
        return not _in_runs(body)
    return _east_asian(body) is None if _in_runs(body) else True


def _sample(body: bytes) -> bytes:
    """From the first byte that is not ASCII on: head, script and style say nothing of the encoding."""
    first = _NOT_ASCII.search(body)
    start = first.start() if first else 0
    return body[start : start + SAMPLE_BYTES]


def _frequent(sample: bytes, codec: str) -> float:
    """Share of frequent characters among what is not ASCII; 0 where the bytes are damaged in this reading."""
    text = sample.decode(codec, "replace")
    foreign = _ASCII_RUN.sub("", text)
    cut = len(sample) == SAMPLE_BYTES  # perhaps in the middle of a character
    if foreign.count("\ufffd") > cut + 0.02 * len(foreign):
        return 0.0
    frequent = _FREQUENT_IN_JAPANESE if codec in ("cp932", "euc_jp") else _FREQUENT
    return 1 - len(frequent.sub("", foreign)) / max(1, len(foreign))


def _east_asian(body: bytes, *, doubting: float = 0.0) -> str | None:
    """The encoding with most frequent characters; to overrule a reading of share ``doubting`` takes 1.5 times that."""
    sample = _sample(body)
    share, codec = max((_frequent(sample, codec), codec) for codec in _EAST_ASIAN)
    return codec if share >= MIN_FREQUENT and share > 1.5 * doubting else None


def _in_runs(body: bytes) -> bool:
    """Whether most bytes above 127 stand beside another: so in other scripts, but not in Western accents."""
    high = np.frombuffer(_sample(body), dtype=np.uint8) >= 0x80
    beside = np.zeros(len(high) + 1, dtype=bool)
    beside[1:-1] = high[1:] & high[:-1]
    return bool(2 * np.count_nonzero((beside[1:] | beside[:-1]) & high) > np.count_nonzero(high))


def _other_script(body: bytes, detect: Detector) -> str | None:
    if not _in_runs(body):
        return None
    codec = codec_of(detect(_sample(body)))
    return codec if codec in _OTHER_SCRIPTS else None
