"""What is kept of a URL is told, and what is judged is counted."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from tests.serve.served import Served, text_of


def seen(service: Served, url: str) -> dict[str, object]:
    reply = service.ask("GET", f"/seen?url={quote(url, safe='')}")
    assert reply.status == 200
    return reply.row


def test_a_url_is_seen_if_a_page_of_it_survived(service: Served) -> None:
    first, copy = "http://seen.example/Ä?b=1&a", "http://copy-of-seen.example/"
    text = text_of("seen").encode()
    assert seen(service, first) == {"url": first, "seen": False}
    judged = service.judge(first, text, fetched="1700000000000").row
    assert judged["verdict"] == "unique"
    found = seen(service, first)
    assert found["seen"] is True
    for name in ("url", "verdict", "fingerprint", "tokens", "fetched"):
        assert found[name] == judged[name]
    assert service.judge(copy, text).row["verdict"] == "duplicate"
    assert seen(service, copy) == {"url": copy, "seen": False}, "only survivors are kept"
    assert service.judge(first, text).row["verdict"] == "refetch"
    assert seen(service, first) == found


def test_the_url_is_taken_in_any_spelling(service: Served) -> None:
    service.judge("http://SPELLING.example:80/a/../%7eb#c", text_of("spelling").encode())
    assert seen(service, "http://spelling.example/~b")["seen"] is True


@pytest.mark.parametrize("url", ["", "a", "/a", "http://", "\N{PILE OF POO}", "http://a.example/" + "a" * 20_000])
def test_what_is_no_url_is_a_bad_request(service: Served, url: str) -> None:
    reply = service.ask("GET", f"/seen?url={quote(url, safe='')}")
    assert reply.status == 400
    assert reply.row["error"].startswith("url is ")


def test_verdicts_are_counted(service: Served) -> None:
    def dead() -> int:
        text = service.metrics.exposition()[0].decode()
        (line,) = (
            line for line in text.splitlines() if line.startswith('dedup_pages_total{language="none",outcome="d')
        )
        return round(float(line.split()[1]))

    before = dead()
    assert service.judge("no url").status == 422
    assert dead() == before + 1
