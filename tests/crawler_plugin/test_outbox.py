"""Pages on their way: in order, bounded, each done with exactly once, whatever fails."""

from __future__ import annotations

import threading

import hypothesis
import pytest
from hypothesis import strategies as st

from crawler_plugin.outbox import WINDOW_BYTES, Notice, Outbox, Sending
from crawler_plugin.record import Page


class Refusal(Exception):
    """The broker says that a page is too large."""


def page(number: int, size: int = 10) -> Page:
    return Page(str(number), b"", b"x" * size, ())


def outbox(*pages: Page) -> Outbox:
    box = Outbox(wake=lambda: None)
    for each in pages:
        box.add(each, each.size)
    return box


def send(box: Outbox) -> Sending:
    sending = box.next(0)
    assert sending is not None
    return sending


def test_pages_go_out_in_the_order_in_which_they_came() -> None:
    box = outbox(page(0), page(1), page(2))
    assert [send(box).page.url for _ in range(3)] == ["0", "1", "2"]
    assert box.next(0) is None


def test_a_confirmed_page_is_done_with_and_frees_its_cost() -> None:
    box = outbox(page(0, size=70))
    box.confirm(send(box).number)
    report = box.collect()
    assert (report.confirmed, report.freed) == (1, 70)
    assert box.is_empty
    assert box.collect().confirmed == 0


def test_no_more_than_the_window_is_under_way_but_always_one_page() -> None:
    box = outbox(page(0, WINDOW_BYTES), page(1), page(2, WINDOW_BYTES + 1), page(3))
    first = send(box)
    assert box.next(0) is None
    box.confirm(first.number)
    second = send(box)
    assert box.next(0) is None
    box.confirm(second.number)
    assert send(box).page.url == "2"


def test_after_an_error_nothing_goes_out_until_the_producer_is_replaced_and_then_everything_again() -> None:
    box = outbox(page(0), page(1), page(2))
    first, second = send(box), send(box)
    box.fail(first.number, ConnectionError("gone"), is_too_large=False)
    with pytest.raises(ConnectionError, match="gone"):
        box.next(0)
    box.take_back()
    assert [send(box).page.url for _ in range(3)] == ["0", "1", "2"]
    assert box.collect().send_errors == 1
    box.confirm(second.number)
    assert box.collect().confirmed == 0, "late news of a sending that was taken back"


def test_late_news_of_a_replaced_producer_does_not_harm_its_successor() -> None:
    box = outbox(page(0))
    first = send(box)
    box.take_back()
    send(box)
    box.fail(first.number, ConnectionError("of the old one"), is_too_large=False)
    assert box.next(0) is None


def test_the_largest_page_is_suspected_first_and_travels_alone() -> None:
    box = outbox(page(0), page(1, size=99), page(2))
    sendings = [send(box) for _ in range(3)]
    for sending in sendings:
        box.fail(sending.number, Refusal(), is_too_large=True)
    box.take_back()
    suspect = send(box)
    assert suspect.page.url == "1"
    assert box.next(0) is None, "nothing beside it"
    box.fail(suspect.number, Refusal(), is_too_large=True)
    box.take_back()
    assert [found.url for found in box.collect().refused] == ["1"]
    assert [send(box).page.url for _ in range(2)] == ["0", "2"]


def test_a_suspect_that_fails_for_another_reason_is_a_suspect_still() -> None:
    box = outbox(page(0), page(1, size=99))
    first, _ = send(box), send(box)
    box.fail(first.number, Refusal(), is_too_large=True)
    for _ in range(2):
        box.take_back()
        suspect = send(box)
        assert suspect.page.url == "1"
        assert box.next(0) is None, "still alone"
        box.fail(suspect.number, ConnectionError(), is_too_large=False)
    box.take_back()
    assert box.collect().refused == []
    assert {found.url for found in box.pages} == {"0", "1"}


def test_a_report_wakes_once_until_it_is_collected() -> None:
    woken: list[None] = []
    box = Outbox(wake=lambda: woken.append(None))
    for number in range(3):
        box.add(page(number), 10)
    for _ in range(2):
        box.confirm(send(box).number)
    assert len(woken) == 1
    assert box.collect().confirmed == 2
    box.note(Notice(True, "trouble"))
    assert len(woken) == 2


def test_a_page_that_comes_wakes_the_one_who_waits_for_it() -> None:
    box = outbox()
    got: list[Sending | None] = []
    waiting = threading.Thread(target=lambda: got.append(box.next(60)))
    waiting.start()
    box.add(page(7), 10)
    waiting.join(30)
    assert [sending.page.url for sending in got if sending] == ["7"]


def test_silence_is_counted_from_the_last_news_and_only_while_there_are_pages() -> None:
    now = [100.0]
    box = Outbox(wake=lambda: None, clock=lambda: now[0])
    now[0] = 500
    assert box.silence == 0
    box.add(page(0), 10)
    now[0] = 503
    box.add(page(1), 10)
    assert box.silence == 3
    box.confirm(send(box).number)
    assert box.silence == 0
    now[0] = 504
    assert box.silence == 1


LIMIT = 50


@hypothesis.given(
    sizes=st.lists(st.integers(1, 100), max_size=25),
    choices=st.randoms(use_true_random=False),
)
def test_whatever_fails_each_page_is_confirmed_or_refused_once_and_only_those_too_large_are_refused(
    sizes: list[int], choices: object
) -> None:
    """A broker that takes up to 50 bytes, loses its connection at times, and after a refusal fails everything."""
    box = outbox(*(page(number, size) for number, size in enumerate(sizes)))
    done: list[str] = []
    refused: list[str] = []
    freed = 0
    faults = 30
    while not box.is_empty:
        under_way: list[Sending] = []
        while (sending := box.next(0)) is not None and choices.random() < 0.8:  # type: ignore[attr-defined]
            under_way.append(sending)
        if sending is not None:
            under_way.append(sending)
        broken = False
        for sending in under_way:
            if broken or len(sending.page.value) > LIMIT:
                broken = True
                box.fail(sending.number, Refusal(), is_too_large=True)
            elif faults and choices.random() < 0.2:  # type: ignore[attr-defined]
                faults -= 1
                box.fail(sending.number, ConnectionError(), is_too_large=False)
                break
            else:
                done.append(sending.page.url)
                box.confirm(sending.number)
        box.take_back()
        report = box.collect()
        refused += [found.url for found in report.refused]
        freed += report.freed
    assert sorted([*done, *refused], key=int) == [str(number) for number in range(len(sizes))]
    assert {int(url) for url in refused} == {number for number, size in enumerate(sizes) if size > LIMIT}
    assert freed == sum(sizes)
