"""The texts of the demo's site: sentences of two languages, unlike each other except for reposts."""

from __future__ import annotations

import re

from worker.demo import articles


def test_texts_are_sentences_of_both_languages() -> None:
    texts = articles.articles()
    assert len({text.slug for text in texts}) == len(texts)
    for text in (*texts, *articles.briefs()):
        joined = "".join(text.paragraphs)
        assert bool(re.search("[\u4e00-\u9fff]", joined)) == (text.language == "zh"), text.slug
        assert all(re.search(r"[.?!。？！]$|[.?!。？！][”\"]$", paragraph) for paragraph in text.paragraphs), text.slug


def test_two_pages_of_briefs_have_at_most_one_item_in_common() -> None:
    pages = articles.briefs()
    for place, page in enumerate(pages):
        assert len(set(page.paragraphs)) == 6
        assert all(len(set(page.paragraphs) & set(other.paragraphs)) <= 1 for other in pages[:place])


def test_a_repost_is_its_original_but_for_a_word_or_two() -> None:
    originals = {text.slug: text for text in articles.articles()}
    for repost in articles.reposts():
        original = originals[repost.slug]
        assert (repost.title, repost.section, repost.language) == (original.title, original.section, original.language)
        pairs = list(zip(repost.paragraphs, original.paragraphs, strict=True))
        changed = [pair for pair in pairs if len(set(pair)) == 2]
        assert 1 <= len(changed) < len(pairs), repost.slug
