"""Where commands write."""

from __future__ import annotations

import resource
from argparse import ArgumentTypeError
from pathlib import Path

import pytest

from crawler_plugin.wire.errors import Unavailable, UsageError
from worker.cli._output_file import output_to, path_here


def test_without_a_file_it_is_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with output_to(None) as out:
        out.write("页\n".encode())
    assert capfdbinary.readouterr().out == "页\n".encode()


def test_a_file_is_written_as_a_whole(tmp_path: Path) -> None:
    with output_to(tmp_path / "rows") as out:
        out.write(b"row\n")
    assert (tmp_path / "rows").read_bytes() == b"row\n"


def test_one_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(UsageError, match=r"--out .*rows cannot be written.*name another file"),
        output_to(tmp_path / "nowhere" / "rows"),
    ):
        pass


def test_a_file_without_room_is_named_and_may_have_room_later(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with (
            pytest.raises(Unavailable, match=r"--out .*rows cannot be written \(File too large\): make room there"),
            output_to(tmp_path / "rows") as out,
        ):
            out.write(b"row\n")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(
    "name", ["s3://bucket/a", "gs://bucket", "memory://a", "file:///tmp/a", "https://host.example/a"]
)
def test_a_url_is_refused_before_anything_is_done(name: str) -> None:
    with pytest.raises(ArgumentTypeError, match="is a URL, and results are written to this machine: name a path here"):
        path_here(name)
    assert path_here("a/b:c") == Path("a/b:c")


def test_another_file_that_is_missing_is_not_blamed_on_the_one_that_is_written(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), output_to(tmp_path / "out"):
        (tmp_path / "missing").open()
