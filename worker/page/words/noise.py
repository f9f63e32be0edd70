"""Words that say nothing about the subject of a page: particles, pronouns, auxiliaries, connectives.

Left in, they are the heaviest features of every page and pull all fingerprints of one language together (which fills
the index's blocks); rare words alone would make a fingerprint fragile. So these lists are short: function words only.

The noise words of Chinese and English are left out of every text. Those of another language are left out if the text is
in that language: if at least one token in ``LEAST_SHARE`` is a noise word of it, and of neither Chinese nor English,
and more than half as many are as there are noise words of these two. So ``die`` and ``war`` stay words of an English
page. Several languages may count, as related ones do in most texts; there is no choice between them that an edit could
turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from worker.page.words.word_tables import FUNCTION_WORDS

_CHINESE: Final = """
的 了 是 在 和 与 及 或 而 且 但 也 都 就 还 又 很 更 最 不 没 没有 有 个 这 那 这个 那个 这些 那些 这里 那里
这样 那样 我 你 您 他 她 它 我们 你们 您们 他们 她们 它们 自己 其 其中 之 于 以 为 因 因为 所以 如果 若 则 虽然
但是 然而 因此 并 并且 而且 或者 以及 把 被 让 给 对 从 到 向 由 由于 关于 对于 等 等等 吗 呢 吧 啊 呀 哦 嗯 地
得 着 过 上 下 中 里 内 外 前 后 时 时候 会 能 能够 可 可以 要 应 应该 将 请 来 去 已 已经 曾 正在 一 一个 一些
一种 一样 每 每个 各 各个 某 某些 什么 怎么 怎样 为什么 哪 哪个 哪些 哪里 谁 多 少 几 所 所有 任何 只 只是 只有
仅 就是 还是 不是 不会 不能 不要 如 如何 如此 例如 比如 即 即可 此 此外 另外 同时 然后 之后 之前 以后 以前 以上
以下 当 再 才 却 无 非 们 使 令 比 跟 這 個 還 會 為 與 於 來 對 從 後 時 過 讓 給 並 們 裡 嗎 沒 雖 應
"""
_ENGLISH: Final = """
a about above after again against all also am an and any are aren't as at be because been before being below
between both but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each
either else etc ever every few for from further get gets got had hadn't has hasn't have haven't having he her
here hers herself him himself his how however i i'm i've if in into is isn't it it's its itself just let's may
me might more most must my myself no nor not now of off on once one only onto or other our ours ourselves out
over own per rather same shall she should shouldn't since so some such than that that's the their theirs them
themselves then there there's these they they're this those through thus to too under until up upon us very via
was wasn't we we're we've were weren't what when where whether which while who whom whose why will with within
without won't would wouldn't yet you you're you've your yours yourself yourselves s t d ll m re ve
"""

LEAST_SHARE: Final = 16
"""In a text of a language a third of the tokens are its function words; in texts of other languages one in fifty is
spelled like one: names, quotations, code."""


@dataclass(frozen=True)
class NoiseWords:
    """Words left out of every text, and words of languages that are left out of texts in that language; all in
    normalised spelling."""

    always: frozenset[str] = frozenset()
    by_language: Mapping[str, frozenset[str]] = field(default_factory=dict, hash=False)

    @cached_property
    def languages(self) -> dict[str, list[str]]:
        """For each word of some language, and of neither Chinese nor English, its languages."""
        found: dict[str, list[str]] = {}
        for language, words in sorted(self.by_language.items()):
            for word in words - self.always:
                found.setdefault(word, []).append(language)
        return found

    def among(self, tokens: Sequence[str]) -> frozenset[str]:
        """The noise words of a text with these tokens."""
        heard: Counter[str] = Counter()
        common = 0
        for word, count in Counter(tokens).items():
            common += count * (word in self.always)
            for language in self.languages.get(word, ()):
                heard[language] += count
        spoken = (
            self.by_language[language]
            for language, count in heard.items()
            if LEAST_SHARE * count >= len(tokens) and 2 * count > common
        )
        return self.always.union(*spoken)

    def left_of(self, tokens: Sequence[str]) -> list[str]:
        """The tokens of a text without its noise words."""
        noise = self.among(tokens)
        return [token for token in tokens if token not in noise]

    def lines(self) -> list[str]:
        """The lines that stand for all of them in a scheme."""
        spoken = (f"{language}\t{word}" for language, words in self.by_language.items() for word in words)
        return sorted((*self.always, *spoken))


NOISE_WORDS: Final = NoiseWords(
    frozenset(_CHINESE.split()) | frozenset(_ENGLISH.split()),
    FUNCTION_WORDS,
)
"""The default."""
