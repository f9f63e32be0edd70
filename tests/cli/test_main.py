"""The command line: where options may stand, what an error looks like, which code the process ends with."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

from crawler_plugin.wire.errors import CheckFailed, Refused, Stop, Unavailable, UsageError
from worker.cli import main as command_line
from worker.cli.main import COMMANDS, RUN, SHORT_NAMES, main
from worker.config import Settings

ROOT: Final = Path(__file__).resolve().parents[2]
CLI: Final = ROOT / "worker" / "cli"


class Probe(ModuleType):
    """A command that runs a function of the test."""

    def __init__(self, act: Callable[[argparse.Namespace, Callable[[], Settings]], int]) -> None:
        super().__init__("probe")
        self.run = act

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("words", nargs="*")
        parser.add_argument("--loud", action="store_true")


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No config file in the working directory."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., int]], None]:
    """Make ``probe`` a command that runs the given function."""

    def install(act: Callable[[argparse.Namespace, Callable[[], Settings]], int]) -> None:
        monkeypatch.setitem(sys.modules, "worker.cli.probe", Probe(act))
        monkeypatch.setitem(COMMANDS, "probe", "a command of the tests")

    return install


@pytest.mark.parametrize(
    "argv",
    [
        ["--set", "near.k=1", "--set", "metrics.port=1", "probe", "a", "b", "--loud"],
        ["probe", "a", "b", "--loud", "--set", "near.k=1", "--set", "metrics.port=1"],
        ["--set", "near.k=0", "--set", "metrics.port=1", "probe", "--set", "near.k=1", "--loud", "a", "b"],
        ["--set=near.k=1", "--set=metrics.port=1", "probe", "--loud", "--", "a", "b"],
    ],
)
def test_settings_are_given_before_or_after_the_command(install: Callable[..., None], argv: list[str]) -> None:
    def act(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
        settings = load()
        assert (settings.near.k, settings.metrics.port) == (1, 1)
        assert (arguments.words, arguments.loud) == (["a", "b"], True)
        return 0

    install(act)
    assert main(argv) == 0


def test_of_two_config_files_the_one_after_the_command_counts(install: Callable[..., None], tmp_path: Path) -> None:
    for k in (1, 2):
        (tmp_path / f"{k}.yaml").write_text(f"near: {{k: {k}}}")
    install(lambda arguments, load: load().near.k)
    assert main(["--config", "1.yaml", "probe"]) == 1
    assert main(["--config", "1.yaml", "probe", "--config", "2.yaml"]) == 2


def test_a_command_that_asks_for_no_settings_runs_with_wrong_ones(install: Callable[..., None]) -> None:
    install(lambda arguments, load: 0)
    assert main(["--set", "near.k=99", "probe"]) == 0


@pytest.mark.parametrize(
    ("stop", "code"),
    [(CheckFailed("no"), 1), (UsageError("no"), 2), (Unavailable("no"), 3), (Refused("no"), 4)],
)
def test_an_error_is_one_message_and_its_code(
    install: Callable[..., None], capsys: pytest.CaptureFixture[str], stop: Stop, code: int
) -> None:
    def act(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
        raise stop

    install(act)
    assert main(["probe"]) == code
    assert capsys.readouterr() == ("", "worker: error: no\n")


def test_an_exception_that_nobody_expected_is_told_first_and_last_with_the_traceback_between(
    install: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    def act(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
        raise LookupError("two\nlines")

    install(act)
    assert main(["probe"]) == 70
    out, told = capsys.readouterr()
    first, *between, last = told.splitlines()
    assert not out
    assert first == last
    assert re.fullmatch(r"worker: error: a fault of this program: .*report.* \(LookupError: two lines\)", first)
    assert between[0] == "Traceback (most recent call last):"
    assert any("in act" in line for line in between)


def test_memory_that_ran_out_is_told_in_one_line(
    install: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    def act(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
        raise MemoryError

    install(act)
    assert main(["probe"]) == 70
    out, told = capsys.readouterr()
    assert not out
    assert re.fullmatch(r"worker: error: memory ran out: .*index\.memory_mb.*\n", told)


@pytest.mark.parametrize("asked", ["--log-json", "DEDUP_LOG__FORMAT", "log.format=json", "config.yaml"])
@pytest.mark.parametrize(
    ("raised", "code", "told"),
    [
        (None, 2, "near.k"),
        (Refused("no"), 4, "no"),
        (MemoryError(), 70, "memory ran out"),
        (LookupError("two\nlines"), 70, "(LookupError: two lines)"),
    ],
    ids=repr,
)
def test_with_json_lines_the_last_word_is_one_too(
    install: Callable[..., None],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    asked: str,
    raised: Exception | None,
    code: int,
    told: str,
) -> None:
    def act(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
        load()
        raise raised or AssertionError("settings that are wrong were taken")

    install(act)
    wrong = [] if raised else ["--set", "near.k=99"]
    if asked == "DEDUP_LOG__FORMAT":
        monkeypatch.setenv(asked, "json")
    if asked == "config.yaml":
        Path(asked).write_text("log:\n  format: json\n")
    given = {"--log-json": [asked], "log.format=json": ["--set", asked]}.get(asked, [])
    assert main([*given, *wrong, "probe"]) == code
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    said = json.loads(line)
    assert (said["level"], told in said["message"]) == ("error", True)
    assert ("in act" in said.get("exception", "")) == (type(raised) is LookupError)


def test_control_c_ends_without_a_traceback(install: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    def act(arguments: argparse.Namespace, load: Callable[[], Settings]) -> int:
        raise KeyboardInterrupt

    install(act)
    assert main(["probe"]) == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["brokr"], ["no command 'brokr'", "did you mean broker?"]),
        (["xyzzy"], ["no command 'xyzzy'", "broker, topics"]),
        (["--nope"], ["--nope", "python -m worker --help"]),
        (["--set"], ["--set", "python -m worker --help"]),
        (["topics", "destroy"], ["destroy", "python -m worker topics --help"]),
        (["topics", "delete"], ["delete needs --generation NAME"]),
        (["topics", "check", "--generation", "b"], ["the setting topics.generation"]),
        (["index", "copy", "--shards", "3"], ["copy needs --to GENERATION"]),
        (["index", "inspect", "--without", "urls.txt"], ["the other actions take none of them"]),
        (["index", "export"], ["export needs --out DIR|URL"]),
        (["index", "copy", "--to", "b c"], ["'b c'", "topics.generation"]),
        (["index", "copy", "--to", ""], ["take another name"]),
        (["switch"], ["--from", "python -m worker switch --help"]),
        (["topics", "--nope", "check"], ["--nope"]),
        (["--check-config", "topics", "check"], ["--check-config", "without a command"]),
        (["--check-config", "--set", "near.k=4"], ["near.k", "from 0 to 3"]),
        (["--check-config", "--config", "absent.yaml"], ["absent.yaml"]),
    ],
)
def test_a_wrong_command_line_ends_with_2_and_the_next_move(
    capsys: pytest.CaptureFixture[str], argv: list[str], told: list[str]
) -> None:
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("worker: error: ")
    for part in told:
        assert part in err


def test_checked_settings_are_ok_and_name_their_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["--check-config"]) == 0
    assert capsys.readouterr().out == "ok: no config file\n"
    (tmp_path / "config.yaml").write_text("near: {k: 1}")
    assert main(["--check-config"]) == 0
    assert capsys.readouterr().out == "ok: config.yaml\n"


def test_a_secret_on_the_command_line_is_said_to_be_public(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, install: Callable[[Callable[..., int]], None]
) -> None:
    install(lambda arguments, load: 0 if load() else 1)
    login = {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "PLAIN",
        "sasl_username": "me",
        "sasl_password": "hush",
        "ssl_certfile": __file__,
        "ssl_password": "hush",
    }
    given = [word for name, value in login.items() for word in ("--set", f"kafka.{name}={value}")]
    for argv in (["--check-config", *given], [*given, "probe"], ["probe", *given]):
        assert main(argv) == 0
        err = capsys.readouterr().err
        for key, name in (("sasl", "DEDUP_KAFKA__SASL_PASSWORD"), ("ssl", "DEDUP_KAFKA__SSL_PASSWORD")):
            assert f"kafka.{key}_password was given by --set" in err
            assert f"give it by {name} or kafka.{key}_password_file" in err
        assert "hush" not in err


def test_a_secret_from_elsewhere_is_passed_over_in_silence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEDUP_KAFKA__SASL_PASSWORD", "hush")
    assert main(["--check-config", "--set", "kafka.ssl_password=null", "--set", "kafka.sasl_username=me"]) == 0
    assert capsys.readouterr().err == ""


def test_printed_settings_are_those_of_the_process_environment(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEDUP_NEAR__K", "1")
    assert main(["--print-config", "--log-json"]) == 0
    out = capsys.readouterr().out
    assert "k: 1  # DEDUP_NEAR__K" in out
    assert "format: json  # --set log.format" in out


def test_printed_settings_say_what_auto_comes_to_on_this_machine(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--print-config", "--set", "page.processes=1"]) == 0
    assert re.search(r"memory_mb: auto  # default: \d+ MiB here, 70% of \d+ MiB", capsys.readouterr().out)
    assert main(["--print-config", "--set", "index.memory_mb=5"]) == 0
    assert "memory_mb: 5  # --set index.memory_mb\n" in capsys.readouterr().out


def test_checked_settings_that_leave_the_index_next_to_nothing_are_warned_of(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--check-config", "--set", "page.processes=1024"]) == 0
    assert capsys.readouterr().err.startswith("python -m worker: index.memory_mb=auto: 70% of ")


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("crawl-dedup ")


def test_the_help_names_every_command_and_fits_into_80_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(len(line) <= 80 for line in out.splitlines())
    for name, summary in COMMANDS.items():
        assert f" {name} {summary}" in " ".join(out.split())


def test_every_file_but_main_is_a_command_and_registered() -> None:
    names = {path.stem for path in CLI.glob("[!_]*.py")} - {"main"}
    assert names == {*COMMANDS.keys() - SHORT_NAMES.keys(), RUN.rpartition(".")[2]}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    out = capsys.readouterr().out
    assert f"python -m worker {name}" in out
    assert "--set KEY=VALUE" in out


def test_a_reader_that_goes_away_ends_the_process_quietly() -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "worker", "--print-config"]
    ended = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False, cwd=ROOT)
    os.close(write)
    assert (ended.returncode, ended.stderr) == (command_line.PIPE_CLOSED, "")


def test_standard_output_without_room_is_told_in_a_sentence(tmp_path: Path) -> None:
    command = f'ulimit -f 0; exec "$0" -m worker --print-config >"{tmp_path / "out"}"'
    ended = subprocess.run(["sh", "-c", command, sys.executable], capture_output=True, text=True, check=False, cwd=ROOT)
    assert ended.returncode == Unavailable.exit_code
    assert re.fullmatch(r"worker: error: .* has no room: make room there.*\(File too large\)\n", ended.stderr)


@pytest.mark.parametrize(
    ("closed", "k", "code"), [(">&-", 1, 0), ("2>&-", 1, 0), ("2>&-", 9, 2), ("<&- >&- 2>&-", 9, 2)]
)
def test_a_standard_stream_may_be_closed(closed: str, k: int, code: int) -> None:
    command = f'exec "$0" -m worker --set near.k={k} --check-config {closed}'
    ended = subprocess.run(["sh", "-c", command, sys.executable], capture_output=True, text=True, check=False, cwd=ROOT)
    assert (ended.returncode, "Traceback" in ended.stderr) == (code, False)


def test_closed_standard_input_is_empty(tmp_path: Path) -> None:
    command = f'exec "$0" -m worker scan - --out "{tmp_path / "out"}" --set page.processes=1 <&-'
    ended = subprocess.run(["sh", "-c", command, sys.executable], capture_output=True, text=True, check=False, cwd=ROOT)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("0 pages")


def test_a_character_that_standard_output_cannot_encode_is_printed_as_its_escape(tmp_path: Path) -> None:
    (tmp_path / "é.yaml").write_text("")
    command = [sys.executable, "-m", "worker", "--check-config", "--config", str(tmp_path / "é.yaml")]
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=ascii_only)
    assert (ended.returncode, ended.stdout) == (0, f"ok: {tmp_path}/\\xe9.yaml\n")


def test_python_m_worker_is_this_command_line() -> None:
    command = [sys.executable, "-m", "worker", "--set", "near.k=7", "--check-config"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert ended.returncode == 2
    assert ended.stderr.startswith("worker: error: one thing is wrong")
