"""Pages on their way: in order, bounded, each done with exactly once, whatever fails."""

from __future__ import annotations

import threading
from random import Random

import hypothesis
import pytest
from hypothesis import strategies as st

from crawler_plugin.publishing.job_marks import JobMarks
from crawler_plugin.publishing.outbox import WINDOW_BYTES, Notice, Outbox, Sending
from crawler_plugin.record import PageRecord

AT = (0, 7)


def page(number: int, size: int = 10) -> PageRecord:
    return PageRecord(str(number), b"", b"x" * size, ())


def outbox(*pages: PageRecord) -> Outbox:
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
    box.confirm(send(box).number, AT)
    report = box.collect()
    assert (report.confirmed, report.freed) == (1, 70)
    assert box.is_empty
    assert box.collect().confirmed == 0


def test_who_handed_a_page_over_hears_once_where_it_is_or_that_it_is_nowhere() -> None:
    box, heard = Outbox(wake=lambda: None), list[tuple[int, int] | None]()
    for number in range(2):
        box.add(page(number), 1, arrived=heard.append)
    send(box)
    box.fail(send(box).number, ConnectionError())
    box.take_back()
    assert heard == []
    first, second = send(box).number, send(box).number
    box.confirm(first, (3, 9))
    box.confirm(first, (3, 10))
    box.refuse(second)
    assert heard == [(3, 9), None]


def test_no_more_than_the_window_is_under_way_but_always_one_page() -> None:
    box = outbox(page(0, WINDOW_BYTES), page(1), page(2, WINDOW_BYTES + 1), page(3))
    first = send(box)
    assert box.next(0) is None
    box.confirm(first.number, AT)
    second = send(box)
    assert box.next(0) is None
    box.confirm(second.number, AT)
    assert send(box).page.url == "2"


def test_after_an_error_nothing_goes_out_until_the_producer_is_replaced_and_then_everything_again() -> None:
    box = outbox(page(0), page(1), page(2))
    first, second = send(box), send(box)
    box.fail(first.number, ConnectionError("gone"))
    with pytest.raises(ConnectionError, match="gone"):
        box.next(0)
    box.take_back()
    assert [send(box).page.url for _ in range(3)] == ["0", "1", "2"]
    assert box.collect().send_errors == 1
    box.confirm(second.number, AT)
    assert box.collect().confirmed == 0, "late news of a sending that was taken back"


def test_late_news_of_a_replaced_producer_does_not_harm_its_successor() -> None:
    box = outbox(page(0))
    first = send(box)
    box.take_back()
    send(box)
    box.fail(first.number, ConnectionError("of the old one"))
    assert box.next(0) is None


def test_once_it_is_given_up_nothing_goes_out_and_late_news_counts_for_no_job() -> None:
    marks = JobMarks()
    marks.begin("night", None)
    box = Outbox(wake=lambda: None, marks=marks)
    for number in range(3):
        box.add(PageRecord(str(number), b"", b"x", (("job", b"night"),)), 1)
    first, second = send(box).number, send(box).number
    box.confirm(first, AT)
    box.give_up()
    box.confirm(second, AT)
    assert box.next(0) is None
    assert [page.url for page in box.unspooled] == ["1", "2"]
    assert [mark.pages for mark in marks.due(at_the_end=True)] == [1]


def test_a_refused_page_is_done_with_and_the_others_go_on() -> None:
    box = outbox(page(0), page(1, size=99), page(2))
    sendings = [send(box) for _ in range(3)]
    assert box.fail(sendings[1].number, ValueError("too large"))
    box.refuse(sendings[1].number)
    assert not box.fail(sendings[2].number, ValueError("the same error, of a page that is not to blame"))
    box.take_back()
    report = box.collect()
    assert ([refused.url for refused in report.refused], report.freed) == (["1"], 99)
    assert [send(box).page.url for _ in range(2)] == ["0", "2"]


def test_a_page_of_the_spool_is_in_memory_only_on_its_way_and_its_place_is_told_when_it_is_done_with() -> None:
    box = outbox(page(0))
    box.add(page(1), 0, place=700)
    box.add(page(2), 0, place=800)
    assert [each.url for each in box.unspooled] == ["0"]
    assert (box.count, box.spooled_bytes) == (3, 20)
    _, first, second = (send(box) for _ in range(3))
    assert box.done_places() == []
    box.confirm(first.number, AT)
    box.refuse(second.number)
    assert box.done_places() == [700, 800]
    assert box.done_places() == []
    assert box.spooled_bytes == 0
    assert box.collect().freed == 0


def test_a_report_wakes_once_until_it_is_collected() -> None:
    woken: list[None] = []
    box = Outbox(wake=lambda: woken.append(None))
    for number in range(3):
        box.add(page(number), 10)
    for _ in range(2):
        box.confirm(send(box).number, AT)
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


@pytest.mark.parametrize("ends", ["enough", "failed", "stirred"])
def test_gathering_ends_before_its_time_when_pages_are_enough_on_failure_and_when_stirred(ends: str) -> None:
    box = Outbox(wake=lambda: None, gathered_bytes=100)
    box.add(page(0), 10)
    sending = send(box)
    gathering = threading.Thread(target=lambda: box.gather(60), daemon=True)
    gathering.start()
    box.add(page(1, size=99), 99)
    gathering.join(0.2)
    assert gathering.is_alive(), "99 bytes wait, and 100 would be enough"
    if ends == "enough":
        box.add(page(2, size=1), 1)
    elif ends == "failed":
        box.fail(sending.number, ConnectionError())
    else:
        box.stir()
    gathering.join(30)
    assert not gathering.is_alive()


def test_pages_that_are_taken_back_are_enough_as_they_were_before() -> None:
    box = Outbox(wake=lambda: None, gathered_bytes=20)
    box.add(page(0), 10)
    box.add(page(1), 10)
    send(box)
    send(box)
    box.take_back()
    gathering = threading.Thread(target=lambda: box.gather(60), daemon=True)
    gathering.start()
    gathering.join(30)
    assert not gathering.is_alive()


def test_silence_is_counted_from_the_last_news_and_only_while_there_are_pages() -> None:
    now = [100.0]
    box = Outbox(wake=lambda: None, clock=lambda: now[0])
    now[0] = 500
    assert box.silence == 0
    box.add(page(0), 10)
    now[0] = 503
    box.add(page(1), 10)
    assert box.silence == 3
    box.confirm(send(box).number, AT)
    assert box.silence == 0
    now[0] = 504
    assert box.silence == 1


@hypothesis.given(sizes=st.lists(st.integers(1, 100), max_size=25), choices=st.randoms(use_true_random=False))
def test_whatever_fails_each_page_is_done_with_once(sizes: list[int], choices: Random) -> None:
    """A broker that confirms, refuses, or loses its connection."""
    box = outbox(*(page(number, size) for number, size in enumerate(sizes)))
    done: list[str] = []
    freed = 0
    faults = 30
    while not box.is_empty:
        under_way: list[Sending] = []
        while (sending := box.next(0)) is not None:
            under_way.append(sending)
            if choices.random() < 0.2:
                break
        for sending in under_way:
            if faults and choices.random() < 0.2:
                faults -= 1
                box.fail(sending.number, ConnectionError())
                break
            done.append(sending.page.url)
            if choices.random() < 0.5:
                box.confirm(sending.number, AT)
            else:
                box.refuse(sending.number)
        box.take_back()
        freed += box.collect().freed
    assert sorted(done, key=int) == [str(number) for number in range(len(sizes))]
    assert freed == sum(sizes)
