"""Finds the running workers, from the places in both groups and the notes of stopped workers."""

from __future__ import annotations

from worker.stream.kafka.group.roster import Seat, have_stopped, instances_of, note_of_stop, worker_of, workers_of


def test_a_worker_is_found_by_the_names_that_it_has_in_its_groups() -> None:
    assert {worker_of(instance) for instance in instances_of("machine-2")} == {"machine-2"}
    assert len(set(instances_of("w"))) == 2, "one and the same would be in both groups under one name"


def test_a_note_tells_of_the_members_that_wrote_it_and_another_text_of_nobody() -> None:
    note = note_of_stop(["w-pages-1f", "w-shards-2e"])
    assert have_stopped([note, "", "17:4", "stopped", "went w-pages-9"]) == {"w-pages-1f", "w-shards-2e"}
    assert have_stopped([]) == frozenset()


def test_a_worker_in_both_groups_counts_once_and_one_that_has_no_name_does_too() -> None:
    pages, shards = instances_of("b")
    seats = [
        Seat("pages", "1", pages, "dedup on /h1"),
        Seat("shards", "2", shards, "dedup on /h1"),
        Seat("shards", "3", instances_of("a")[1], "dedup on /h1"),
        *(Seat(group, str(number), None, "dedup on /h2") for group in ("pages", "shards") for number in range(2)),
        Seat("pages", "9", None, "dedup on /h3"),
    ]
    assert workers_of(seats) == ["a", "b", "dedup on /h2", "dedup on /h2", "dedup on /h3"]
    assert workers_of([]) == []
