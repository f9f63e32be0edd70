"""Pictures and players: where their names come from, and which ones are a page's content."""

from __future__ import annotations

import numpy as np
import pytest

from worker.page.elements.markup import parse
from worker.page.embedded.pictures import MOST_SOURCES, name_of, pictures
from worker.page.main_text.content import main_content


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("https://player.example/ab12", "ab12"),
        ("https://video.example/embed/dQw4w9WgXcQ?autoplay=1&rel=0", "dQw4w9WgXcQ"),
        ("//video.example/watch?v=dQw4w9WgXcQ&t=3", "dQw4w9WgXcQ"),
        ("https://maps.example/maps?q=Berlin&output=embed", "Berlin"),
        ("https://maps.example/maps/embed?pb=!1m18", "!1m18"),
        ("https://sound.example/player/?url=https%3A//api.sound.example/tracks/1234&color=f50", "1234"),
        ("/player.php?id=77&sid=abcdef", "77"),
        ("/player;jsessionid=1F?clip=9&PHPSESSID=2", "9"),
        ("https://charts.example/AbCdE/3/", "AbCdE 3"),
        ("/viewer.html?file=/papers/17.pdf", "17"),
        ("/papers/report.pdf#page=2", "report"),
        ("/audio/episode-12.mp3?token=xyz", "episode-12"),
        ("https://stream.example/live/match-7/master.m3u8", "match-7"),
        ("about:blank", ""),
        ("javascript:void(0)", ""),
        ("https://www.googletagmanager.com/ns.html?id=G-1", ""),
        ("https://social.example/plugins/like.php?href=x", ""),
        ("https://a.example/ads/frame?id=3", ""),
        ("https://a.example/comments/embed/4", ""),
        ("", ""),
        ("//", ""),
        ("http://[", ""),
    ],
)
def test_a_player_is_named_by_what_it_plays(source: str, name: str) -> None:
    assert name_of(source, is_image=False) == name


@pytest.mark.parametrize(
    "source",
    [
        "/strips/strip-1201.png",
        "https://cdn.example/a/strips/strip-1201-300x200.webp?w=800",
        "strip-1201@2x.jpg",
        "/w_800,h_600,c_fill/v1/strip-1201.jpg;jsessionid=7?s=1",
        "/thumb/a/ab/strip-1201.png/220px-strip-1201.png",
        "/_next/image?url=%2Fstrips%2Fstrip-1201.png&w=640&q=75",
        "/photos/strip-1201/large.jpg",
        "/vi/strip-1201/hqdefault.jpg",
        "/image.php?id=strip-1201&sid=5",
    ],
)
def test_a_picture_has_one_name_in_all_sizes_and_places(source: str) -> None:
    assert name_of(source, is_image=True) == "strip-1201"


@pytest.mark.parametrize(
    "source",
    [
        *("data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP", "/img/logo.png", "/icons/next.png", "/spacer.gif"),
        *("/avatar/7.jpg", "/promo-banner-ad.png", "blob:1", "x" * 5000),
    ],
)
def test_what_is_no_content_has_no_name(source: str) -> None:
    assert name_of(source, is_image=True) == ""


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<main><p>x<img src=a1.png><img src=b2.png><img src=a1.png></main>", ("a1", "b2")),
        ("<main><p>x<img src=a1.png><iframe src=/embed/c3></iframe></main>", ("c3",)),
        ("<main><p>x<video poster=q1.png><source src=d4.mp4><source src=d4.webm></video></main>", ("q1", "d4")),
        ("<main><p>x<audio src=e5.mp3></audio></main>", ("e5",)),
        ("<main><p>x<object data=f6.pdf><embed src=no.pdf></object></main>", ("f6",)),
        ("<main><p>x<picture><source srcset=no.webp><img srcset='g7-200w.png 200w, g7.png'></picture></main>", ("g7",)),
        (
            "<main><p>x<picture><source srcset=k1-90x60.webp><source srcset=no><img src=blank.gif></picture></main>",
            ("k1",),
        ),
        ("<main><p>x<img src=data:image/gif;base64,R0 data-src=h8.png></main>", ("h8",)),
        *(
            (f"<main><p>x<{element} src=wait9.png {attribute}='h8-200w.png'></main>", ("h8",))
            for element in ("img", "amp-img", "iframe", "video")
            for attribute in ("data-src", "data-lazy-src", "data-original", "data-srcset", "data-lazy-srcset")
        ),
        ("<main><p>x<amp-img src=h8.png></amp-img></main>", ("h8",)),
        *(
            (f"<main><p>x<img src=a1.png><{player}=dQw4w9WgXcQ></main>", ("dQw4w9WgXcQ",))
            for player in (
                "lite-youtube videoid",
                "amp-youtube data-videoid",
                "video-js data-video-id",
                "video data-video-id",
                "iframe src=https://tube.example/embed/dQw4w9WgXcQ title",
            )
        ),
        ("<nav><img src=no.png></nav><div><img src=i9.png><main><p>x</p></main></div>", ("i9",)),
        ("<nav><img src=no.png></nav><main><p>x</p></main><footer><iframe src=no></iframe></footer>", ()),
        ("<main><p>x</p></main><noscript><img src=no.png></noscript><template><img src=no2.png></template>", ()),
    ],
)
def test_pictures_of_the_content_count_and_players_before_them(markup: str, expected: tuple[str, ...]) -> None:
    assert main_content(markup).pictures == expected


def test_of_many_pictures_the_first_count() -> None:
    found = main_content("<main><p>x" + "".join(f"<img src=a{n}.png>" for n in range(1000)) + "</main>").pictures
    assert found == tuple(f"a{n}" for n in range(MOST_SOURCES))


def test_pictures_deep_within_others_are_no_harm() -> None:
    page = parse("<div>" * 5000 + "<img src=a1.png>" * 100)
    assert pictures(page, np.zeros(len(page.elements), dtype=np.int32), 0) == ()
