"""jieba's dictionary, a user's own words, and the name of both."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

from worker.page.words.dictionary import _USABLE, Dictionary, dictionary, unused_words, with_beginnings, words_rule
from worker.page.words.noise import NOISE_WORDS, NoiseWords

USER_WORDS = ("51区", "9架", "云计算平台", ("数据库系统", 10**6, "n"), ("安装程序", 3, None))


def frequencies_of(found: Dictionary) -> dict[str, int]:
    words = "".join(map(chr, found.codes.tolist()))
    bounds = [0, *found.ends.tolist()]
    spelled = [words[begin:end] for begin, end in pairwise(bounds)]
    assert spelled == sorted(set(spelled))
    return dict(zip(spelled, found.counts.tolist(), strict=True))


def test_the_dictionary_has_the_words_that_jieba_has() -> None:
    import jieba

    frequencies, total = jieba.Tokenizer().gen_pfdict(jieba.Tokenizer().get_dict_file())
    words = {word: frequency for word, frequency in frequencies.items() if frequency and _USABLE.fullmatch(word)}
    found = dictionary(fold_traditional=False)
    assert frequencies_of(found) == words
    assert found.total == total


def test_user_words_are_normalised_and_those_without_use_are_named() -> None:
    words = ["５１区", "C++语言", "Kubernetes", "阿尔·伯特", ""]
    assert frequencies_of(dictionary(words)).keys() - frequencies_of(dictionary()).keys() == {"51区"}
    assert unused_words(words, fold_traditional=True) == ("c++语言", "kubernetes", "阿尔·伯特")
    assert unused_words(USER_WORDS, fold_traditional=True) == ()


def test_a_user_dictionary_is_a_set_whatever_its_order() -> None:
    other = (*reversed(USER_WORDS), "51区")
    assert frequencies_of(dictionary(USER_WORDS)) == frequencies_of(dictionary(other))
    names = {words_rule(words, NOISE_WORDS, fold_traditional=True) for words in (USER_WORDS, other)}
    assert len(names) == 1


def test_the_name_tells_rules_apart_and_says_which_dictionary_it_was() -> None:
    import jieba

    names = {
        words_rule(words, noise, fold_traditional=False)
        for words, noise in (
            ((), NOISE_WORDS),
            ((), NoiseWords()),
            (["51区"], NOISE_WORDS),
            ([("51区", 5, None)], NOISE_WORDS),
        )
    }
    assert len(names) == 4
    frequencies, total = jieba.Tokenizer().gen_pfdict(jieba.Tokenizer().get_dict_file())
    assert all(f"/jieba-{len(frequencies)}-{total}/" in name for name in names)
    assert with_beginnings(False) == (frequencies, total)


def test_loading_jieba_writes_no_file_and_logs_nothing(tmp_path: Path) -> None:
    code = (
        "from worker.page.words.dictionary import dictionary\n"
        "print(len(dictionary(['网页a']).ends) - len(dictionary().ends))"
    )
    finished = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={"TMPDIR": str(tmp_path), "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, "1\n", "")
    assert list(tmp_path.iterdir()) == []
