"""The data folder: what a start refuses, before any Java runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawler_plugin.wire.errors import Unavailable, UsageError
from worker.broker import folder
from worker.broker.folder import DataFolder, default_data_dir


def formatted(path: Path, **meta: str) -> Path:
    """A folder as this program leaves it, with these lines in Kafka's meta.properties."""
    (path / "kafka").mkdir(parents=True)
    (path / "broker.lock").touch()
    lines = {"version": "1", "cluster.id": "abc", "node.id": "1"} | {key.replace("_", "."): meta[key] for key in meta}
    (path / "kafka" / "meta.properties").write_text("#\n" + "".join(f"{key}={lines[key]}\n" for key in lines))
    return path


def test_a_new_folder_is_made_with_its_parents(tmp_path: Path) -> None:
    claimed = DataFolder.claim(tmp_path / "a" / "b")
    assert claimed.path.is_dir()
    assert not claimed.is_formatted
    claimed.release()


def test_a_folder_of_our_own_is_taken_again(tmp_path: Path) -> None:
    claimed = DataFolder.claim(formatted(tmp_path / "data"))
    assert claimed.is_formatted
    claimed.release()


def test_the_empty_root_of_a_new_disk_is_taken(tmp_path: Path) -> None:
    (tmp_path / "lost+found").mkdir()
    DataFolder.claim(tmp_path).release()


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    with pytest.raises(UsageError, match=r"cannot write .*data: File exists; give another --data-dir"):
        DataFolder.claim(tmp_path / "data")


@pytest.mark.parametrize("place", ["/proc/crawl-dedup", "/dev/null/crawl-dedup"])
def test_a_place_that_cannot_be_written_is_refused(place: str) -> None:
    with pytest.raises(UsageError, match=f"cannot write the broker's folder {place}"):
        DataFolder.claim(Path(place))


def test_a_folder_with_other_things_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(UsageError, match=r"holds other things \(thesis.tex\)"):
        DataFolder.claim(tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_second_claim_is_refused_and_names_the_holder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "PATIENCE_S", 0.0)
    first = DataFolder.claim(tmp_path)
    first.write_down("process on 127.0.0.1:20001")
    with pytest.raises(Unavailable, match=r"a broker already runs .*127.0.0.1:20001"):
        DataFolder.claim(tmp_path)
    first.release()
    DataFolder.claim(tmp_path).release()


def test_a_disk_with_too_little_room_is_refused_and_the_folder_let_go(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"no space .* MiB are free, a start needs"):
        DataFolder.claim(tmp_path, minimum_free_bytes=2**62)
    DataFolder.claim(tmp_path).release()


@pytest.mark.parametrize("version", ["4.99.0", "5.0.0", "10.0.1", "unreadable", ""])
def test_a_folder_written_by_a_newer_kafka_is_refused(tmp_path: Path, version: str) -> None:
    path = formatted(tmp_path / "data")
    (path / "kafka.version").write_text(version + "\n")
    with pytest.raises(UsageError, match=r"other format: Kafka .* wrote it"):
        DataFolder.claim(path)


@pytest.mark.parametrize("version", ["4.1.0", "4.1.2", "4.1.99", "4.0.0", "3.9.1"])
def test_a_folder_written_by_this_or_an_older_kafka_is_taken(tmp_path: Path, version: str) -> None:
    path = formatted(tmp_path / "data")
    (path / "kafka.version").write_text(version + "\n")
    DataFolder.claim(path).release()


@pytest.mark.parametrize("meta", [{"version": "0"}, {"version": "2"}, {"node_id": "7"}, {"cluster_id": ""}])
def test_a_folder_of_another_cluster_or_format_is_refused(tmp_path: Path, meta: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=r"meta.properties is not of this program's making"):
        DataFolder.claim(formatted(tmp_path / "data", **meta))


def test_the_default_folder_follows_the_desktop_convention(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert default_data_dir() == Path("/state/crawl-dedup/broker")
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert default_data_dir() == Path("/home/somebody/.local/state/crawl-dedup/broker")
