"""The parts around the text of a thread's posts, and pages that only look like threads."""

from __future__ import annotations

import pytest

from tests.page.main_text.test_beside import names, prose


def post(number: int, words: int = 30, name: str = "post") -> str:
    """A post as in many forums."""
    return (
        f"<article class='{name} {name}-{number}' id=p{number}><div class=user><h4>Ewa{number}</h4><div>Członek</div>"
        f"<dl><dt>Posty</dt><dd>{number}27</dd><dt>Od</dt><dd>3 maja 201{number}</dd></dl></div>"
        f"<div class=body><header><time>5 maja 2024</time><a href=#{number}>#{number}</a></header>"
        f"<div class=text>{prose('tekst', words)}<p>Pozdrawiam</p></div>"
        f"<footer><button>Lubię</button></footer><p><a href=/r{number}>Odpowiedz</a> <a href=/c>Cytuj</a></p>"
        "</div></article>"
    )


def thread(*posts: str) -> str:
    """A page of these posts."""
    return f"<h1>Pytanie o rower</h1><div>{''.join(posts)}</div>"


THREAD = thread(*map(post, range(1, 5)))


def test_a_thread_is_the_text_of_its_posts() -> None:
    assert names(THREAD) == ["Pytanie", *["tekst", "Pozdrawiam"] * 4]
    assert {"Posty", "Od", "Odpowiedz"} <= set(names(THREAD, "furniture"))


def test_a_short_post_keeps_its_text() -> None:
    assert names(thread(post(1), post(2, words=2), post(3))).count("tekst") == 3


def test_replies_that_stand_in_each_other_are_a_thread() -> None:
    nested = post(1).replace("</article>", post(2).replace("</article>", post(3) + "</article>") + "</article>")
    found = names(thread(nested))
    assert found.count("tekst") == 3
    assert "Posty" not in found


def test_what_stands_between_posts_goes_and_the_question_above_them_stays() -> None:
    between = "<div class=x>Podobne wątki</div>"
    page = thread("<p>Krótko</p>", post(1), between, post(2), post(3), between)
    assert "Krótko" in names(page)
    assert "Podobne" not in names(page)
    assert "Podobne" in names(page, "furniture")


def test_a_title_that_all_posts_have_goes() -> None:
    posts = "".join(post(n).replace("<header>", "<h3>Re: Pytanie o mój nowy rower</h3><header>") for n in range(1, 5))
    assert names(f"<h1>Pytanie o mój nowy rower</h1><div>{posts}</div>").count("Re:") <= 1


def test_signatures_go() -> None:
    posts = "".join(
        post(n).replace("<p><a", f"<div class=signature>{prose('podpis', 12)}</div><p><a") for n in range(1, 5)
    )
    assert "podpis" not in names(thread(posts))


@pytest.mark.parametrize("name", ["event", "produkt"])
def test_what_is_called_nothing_of_a_thread_keeps_all_it_has(name: str) -> None:
    page = f"<h1>Kalendarz imprez</h1><div>{''.join(post(n, name=name) for n in range(1, 5))}</div>"
    assert names(page) == names(page, "furniture")


def test_posts_with_titles_of_their_own_are_articles_of_a_blog() -> None:
    titles = [
        "Jak naprawić stary rower samemu",
        "Dokąd jechać w maju rowerem",
        "Co zabrać z sobą w drogę",
        "Ile to kosztuje na jeden dzień",
    ]
    posts = "".join(post(n).replace("<header>", f"<h2>{title}</h2><header>") for n, title in enumerate(titles))
    page = f"<h1>Blog o rowerach</h1><div>{posts}</div>"
    assert names(page) == names(page, "furniture")


def test_the_thread_is_not_left_for_its_longest_post() -> None:
    page = thread(post(1), post(2, words=60))
    assert names(page).count("tekst") == 2


def test_a_page_on_which_all_elements_have_other_names_is_read() -> None:
    names_of_all = "".join(
        f"<x{n} class=post-{'y' * (n % 50)}>{n}.05.2024<p>{prose('raz', 9)}</p>" for n in range(2000)
    )
    assert "raz" in names(f"<body>{names_of_all}")
