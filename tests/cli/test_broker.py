"""``python -m worker broker`` as a process: what it prints, how it ends, and with which exit code."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from kafka import KafkaProducer
from kafka.admin import KafkaAdminClient
from kafka.errors import KafkaError

from tests.waiting import wait_for
from worker.cli.main import main

pytestmark = pytest.mark.cluster

READY = re.compile(r"bootstrap\.servers=127\.0\.0\.1:(\d+)\n")
IN_OWN_MOUNTS = ("unshare", "--mount", "--map-root-user")


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "worker", "broker", *map(str, arguments)]


def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command until it ends by itself."""
    return subprocess.run(
        command(*arguments), env=os.environ | environment, capture_output=True, text=True, timeout=120, check=False
    )


@contextmanager
def started(*prefix_and_arguments: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The process and its port, once it says that it is ready."""
    with subprocess.Popen(prefix_and_arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            ready = READY.fullmatch(line)
            assert ready, f"{line!r} instead of the ready line"
            yield process, int(ready[1])
        finally:
            process.kill()


def jvms_of(data_dir: Path) -> list[int]:
    """Processes that run in the data folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if process.joinpath("cwd").readlink() == data_dir:
                found.append(int(process.name))
        except OSError:
            continue
    return found


def ends_in_order(process: subprocess.Popen[str], data: Path, number: signal.Signals) -> None:
    """Check that this signal ends the process with exit code 0 after a shutdown in order."""
    process.send_signal(number)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert (output, errors) == ("", "")
    assert jvms_of(data) == []
    assert (data / "kafka" / ".kafka_cleanshutdown").exists()


def test_it_serves_clients_and_sigterm_ends_it_in_order(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with started(*command("--port", 0, "--data-dir", data)) as (process, port):
        with KafkaAdminClient(bootstrap_servers=f"127.0.0.1:{port}") as admin:
            assert [broker["port"] for broker in admin.describe_cluster()["brokers"]] == [port]
        ends_in_order(process, data, signal.SIGTERM)


def test_a_signal_while_it_starts_ends_it_with_exit_code_0_too(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with subprocess.Popen(command("--port", 0, "--data-dir", data), stdout=subprocess.PIPE, text=True) as process:
        wait_for(lambda: jvms_of(data), "the JVM to run")
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert output == ""
    wait_for(lambda: not jvms_of(data), "the JVM to end")


def test_killed_by_sigkill_it_leaves_no_java_behind_and_starts_again_at_once_until_sighup(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with started(*command("--port", 0, "--data-dir", data)) as (process, _):
        assert jvms_of(data)
        process.kill()
        process.wait()
        with started(*command("--port", 0, "--data-dir", data)) as (second, _):
            ends_in_order(second, data, signal.SIGHUP)


def test_when_kafka_dies_by_itself_it_exits_3_with_the_way_it_ended(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with started(*command("--port", 0, "--data-dir", data)) as (process, _):
        (jvm,) = jvms_of(data)
        os.kill(jvm, signal.SIGKILL)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 3
    assert "killed by SIGKILL" in errors
    assert f"{data / 'broker.log'}; start it again" in errors


def test_a_full_disk_ends_it_with_exit_code_3_and_says_so(tmp_path: Path) -> None:
    """A private disk of 300 MB in memory, filled while the broker runs."""
    disk = tmp_path / "disk"
    disk.mkdir()
    probe = [*IN_OWN_MOUNTS, "mount", "-t", "tmpfs", "none", str(disk)]
    if shutil.which("unshare") is None or subprocess.run(probe, capture_output=True, check=False).returncode != 0:
        pytest.skip("needs a disk of its own: unshare (util-linux) and the right to mount in a namespace")
    inside = f'mount -t tmpfs -o size=300m none "{disk}" && exec "$@"'
    start = [*IN_OWN_MOUNTS, "/bin/sh", "-c", inside, "sh", *command("--port", 0, "--data-dir", disk / "data")]
    with started(*start) as (process, port):
        servers = f"127.0.0.1:{port}"
        with KafkaAdminClient(bootstrap_servers=servers) as admin:
            admin.create_topics({"pages": {"num_partitions": 1, "replication_factor": 1}}, wait_for_metadata=True)
        seen_from_outside = Path(f"/proc/{process.pid}/root{disk}")
        with (seen_from_outside / "filler").open("wb") as filler:
            free = shutil.disk_usage(seen_from_outside).free
            os.posix_fallocate(filler.fileno(), 0, free - 4 * 1024 * 1024)
        producer = KafkaProducer(bootstrap_servers=servers, delivery_timeout_ms=5_000, request_timeout_ms=2_000)
        try:
            while process.poll() is None:
                producer.send("pages", os.urandom(512 * 1024), partition=0).get(timeout=10)
        except KafkaError:
            _, errors = process.communicate(timeout=60)
        finally:
            producer.close(timeout=0)
    assert process.returncode == 3
    assert f"no space for the broker in {disk / 'data'}" in errors


@pytest.mark.parametrize(
    "arguments", [("--port", "65536"), ("--port", "-1"), ("--port", "x"), ("--heap-mb", "12"), ("--heap-mb", "")]
)
def test_arguments_that_mean_nothing_exit_2(arguments: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["broker", *arguments]) == 2
    assert arguments[0] in capsys.readouterr().err
