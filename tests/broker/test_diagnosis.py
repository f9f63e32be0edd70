"""From a broker's last words to an error. The words are Kafka's and Java's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawler_plugin.wire.errors import Stop, Unavailable, UsageError
from worker.broker.diagnosis import PortTaken, diagnose, last_lines, why_it_ended

FOLDER = Path("/data")


@pytest.mark.parametrize(
    ("words", "kind", "message"),
    [
        ("java.io.IOException: No space left on device", Unavailable, "no space"),
        ("java.io.IOException: Disk quota exceeded", Unavailable, "no space"),
        (
            "org.apache.kafka.common.KafkaException: Failed to acquire lock on file .lock in /data/kafka.",
            Unavailable,
            "another Kafka runs",
        ),
        ("java.lang.OutOfMemoryError: Java heap space", Unavailable, "--heap-mb"),
        ("Could not reserve enough space for 102400000000 KB object heap", UsageError, "a smaller --heap-mb"),
        ("java.lang.IllegalArgumentException: No MetadataVersion with feature level 99", UsageError, "other format"),
        ("java.lang.RuntimeException: something else", Unavailable, "something else"),
        ("", Unavailable, "wrote nothing"),
    ],
)
def test_words_become_an_error_of_the_right_kind(words: str, kind: type[Stop], message: str) -> None:
    error = diagnose(words, FOLDER, 1)
    assert type(error) is kind
    assert message in str(error)


def test_a_port_taken_meanwhile_is_told_apart_since_another_port_may_do() -> None:
    with pytest.raises(PortTaken):
        diagnose("Socket server failed to bind to 127.0.0.1:9092: Address already in use.", FOLDER, 1)


@pytest.mark.parametrize(
    ("status", "how"), [(1, "exit status 1"), (-9, "killed by SIGKILL"), (-11, "killed by SIGSEGV"), (None, "it hung")]
)
def test_the_way_it_ended_is_said(status: int | None, how: str) -> None:
    assert how in str(diagnose("", FOLDER, status))


def test_stack_frames_are_left_out_of_the_last_lines(tmp_path: Path) -> None:
    (tmp_path / "jvm.log").write_text("WARNING: noise\n")
    (tmp_path / "broker.log").write_text("ERROR what happened\n\tat kafka.A.b(A.scala:1)\n\t... 12 more\n\n")
    assert last_lines(tmp_path) == "ERROR what happened"


def test_what_was_logged_before_this_start_does_not_count(tmp_path: Path) -> None:
    log = tmp_path / "broker.log"
    log.write_text("No space left on device\n")
    begin = log.stat().st_size
    with log.open("a") as file:
        file.write("something new\n")
    error = str(why_it_ended(tmp_path, 1, since=begin))
    assert "something new" in error
    assert "space" not in error


def test_a_log_that_was_rolled_over_meanwhile_counts_from_its_beginning(tmp_path: Path) -> None:
    (tmp_path / "broker.log").write_text("No space left on device\n")
    assert "no space" in str(why_it_ended(tmp_path, 1, since=1_000_000))
