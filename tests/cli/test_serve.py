"""``python -m worker serve`` as a process: killed, asked to stop, on a full disk, and by the words of the handbook."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pytest

from tests.handbook import blocks
from tests.waiting import DEADLINE_SECONDS
from worker.cli.main import main
from worker.cli.serve import DEFAULT_PORT

ROOT: Final = Path(__file__).resolve().parents[2]
OPTIONS: Final = ("--port", "0", "--set", "page.processes=1", "--set", "metrics.port=0")
CLIENTS: Final = 8


class Process:
    """The running command on a state; it listens already."""

    def __init__(self, state: Path, *options: str, before: Callable[[], None] | None = None) -> None:
        self.process: Final = subprocess.Popen(
            [sys.executable, "-m", "worker", "serve", "--state", str(state), *OPTIONS, *options],
            cwd=state.parent,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=before,
        )
        assert self.process.stdout is not None
        self.metrics = self.process.stdout.readline().split()[-1:]
        said = self.process.stdout.readline()
        self.port = int(said.partition(",")[0].rpartition(":")[2]) if said else 0

    def end(self) -> tuple[int, str]:
        """Exit code and standard error."""
        _, errors = self.process.communicate(timeout=DEADLINE_SECONDS)
        return self.process.returncode, errors

    def judge(self, number: int) -> dict[str, Any] | None:
        """The verdict on one of many pages that are all different; None where there is no answer."""
        url = f"http://a.example/{number}"
        connection = HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_SECONDS)
        try:
            body = " ".join(f"{word}{number}" for word in ("saucer", "glides", "over", "the", "harbour", "at", "night"))
            connection.request("POST", f"/judge?form=text&url={quote(url, safe='')}", body.encode())
            response = connection.getresponse()
            row: dict[str, Any] = json.loads(response.read())
            return row if response.status == 200 else None
        except (OSError, HTTPException, ValueError):
            return None
        finally:
            connection.close()

    def judge_until_it_ends(self, told: list[int], enough: threading.Event, first: int = 0) -> list[threading.Thread]:
        """Send pages from some clients, each in its own thread; the numbers of pages that got a verdict go to
        ``told``."""

        def ask(client: int) -> None:
            number = first + client
            while (row := self.judge(number)) is not None:
                assert row["verdict"] == "unique"
                told.append(number)
                number += CLIENTS
                if len(told) >= 50:
                    enough.set()
            enough.set()

        asking = [threading.Thread(target=ask, args=(client,)) for client in range(CLIENTS)]
        for thread in asking:
            thread.start()
        return asking


@contextmanager
def serving(state: Path, *options: str, before: Callable[[], None] | None = None) -> Iterator[Process]:
    running = Process(state, *options, before=before)
    try:
        yield running
    finally:
        running.process.kill()
        running.process.communicate()


def test_killed_in_the_middle_of_a_crawl_it_has_kept_each_verdict_that_was_told_and_then_ends_in_order(
    tmp_path: Path,
) -> None:
    told: list[int] = []
    enough = threading.Event()
    with serving(tmp_path / "state") as killed:
        asking = killed.judge_until_it_ends(told, enough)
        assert enough.wait(DEADLINE_SECONDS)
        killed.process.kill()
        for thread in asking:
            thread.join()
    assert len(told) >= 50
    with serving(tmp_path / "state") as again:
        for number in told:
            row = again.judge(number)
            assert row and row["verdict"] == "refetch", number
        more: list[int] = []
        asking = again.judge_until_it_ends(more, enough := threading.Event(), 1_000_000)
        assert enough.wait(DEADLINE_SECONDS)
        assert main(["serve", "--state", str(tmp_path / "state"), *OPTIONS]) == 4, "one process may have it open"
        with urllib.request.urlopen(again.metrics[0].replace("/metrics", "/readyz")) as ready:
            assert ready.status == 200
        again.process.terminate()
        code, errors = again.end()
        for thread in asking:
            thread.join()
    assert (code, "Traceback" in errors) == (0, False), errors
    with serving(tmp_path / "state") as last:
        assert {last.judge(number)["verdict"] for number in more[-20:]} == {"refetch"}  # type: ignore[index]


def test_on_a_full_disk_it_ends_and_has_kept_each_verdict_that_was_told(tmp_path: Path) -> None:
    told: list[int] = []
    enough = threading.Event()

    def little() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, 12_000))

    with serving(tmp_path / "state", before=little) as running:
        asking = running.judge_until_it_ends(told, enough)
        code, errors = running.end()
        for thread in asking:
            thread.join()
    assert code == 3
    assert "make room on the disk" in errors
    assert told
    with serving(tmp_path / "state") as again:
        assert {again.judge(number)["verdict"] for number in told} == {"refetch"}  # type: ignore[index]


@pytest.mark.parametrize(
    ("options", "code", "why"),
    [
        (["--state", "seen", "--port", "70000"], 2, "no port"),
        (["--state", "seen", "--port", "x"], 2, "no port"),
        ([], 2, "--state"),
        (["--state", "seen", "--host", "0.0.0.0", "--port", "0"], 2, "--token-file"),
        (["--state", "seen", "--token-file", "none"], 2, "cannot be read"),
        (["--state", "/dev/null/seen", *OPTIONS], 2, "cannot be opened"),
        (["--state", "seen", "--host", "192.0.2.1"], 3, "nothing can listen"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_judged(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    code: int,
    why: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["serve", *options]) == code
    assert why in capsys.readouterr().err


def test_the_words_of_the_handbook_are_answered_as_it_says(tmp_path: Path) -> None:
    page, start, asked = "serve", "Verdicts over HTTP", blocks("serve", "Verdicts over HTTP")
    assert asked[0] == "python -m worker serve --state seen\n"
    (shown,) = blocks(page, start, "json")
    (program,) = blocks(page, start, "python")
    (tmp_path / "ferry.html").write_text(
        "<title>The ferry</title><p>The ferry to the island leaves at nine, says the harbour master, "
        "and comes back before the tide turns.</p>"
    )
    (tmp_path / "token").write_text("0123456789abcdef\n")
    outside = blocks(page, "For other machines")[0].splitlines()
    assert outside[0] == "python -m worker serve --state seen --host 0.0.0.0 --token-file token"
    with serving(tmp_path / "seen", "--host", "0.0.0.0", "--token-file", "token") as running:

        def here(command: str) -> str:
            assert str(DEFAULT_PORT) in command
            return command.replace(str(DEFAULT_PORT), str(running.port))

        def run(*command: str) -> str:
            return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

        curl = asked[1].replace("curl ", 'curl -s -H "Authorization: Bearer $(cat token)" ')
        assert json.loads(run("bash", "-c", here(curl))) == json.loads(shown)
        authorised = program.replace('x-ndjson"}', 'x-ndjson", "Authorization": "Bearer 0123456789abcdef"}')
        lines = run(sys.executable, "-c", here(authorised)).splitlines()
        assert lines == [f"https://b.example/{n} duplicate https://a.example/ferry" for n in range(3)]
        assert json.loads(run("bash", "-c", here(outside[1]).replace("curl ", "curl -s ")))["seen"] is True
