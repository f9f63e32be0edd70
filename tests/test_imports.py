"""Rules for packages that import-linter's contracts in .importlinter cannot express."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parent.parent
PURE: Final = ("page", "fingerprint", "index", "verdict")
SURROUNDINGS: Final = {
    "asyncio",
    "datetime",
    "glob",
    "multiprocessing",
    "os",
    "pathlib",
    "random",
    "secrets",
    "shutil",
    "signal",
    "socket",
    "subprocess",
    "tempfile",
    "threading",
    "time",
    "uuid",
}
"""Libraries that read a clock, a file, the environment, a socket or chance."""
WORDS: Final = list(enumerate(["glide", "hover", "circle", "vanish", "return", "hum", "land", "rise"]))


def imports(path: Path) -> set[str]:
    """Full names of everything that a file imports, in functions too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute here, so that these rules can be read off"
            found.add(node.module or "")
    return found


def files(*packages: str) -> list[Path]:
    return [path for package in packages for path in sorted((ROOT / "worker" / package).rglob("*.py"))]


def test_what_a_verdict_depends_on_is_handed_in_and_not_looked_up() -> None:
    for path in files(*PURE):
        roots = {name.partition(".")[0] for name in imports(path)}
        assert not roots & SURROUNDINGS, path
        calls = [node.func for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.Call)]
        names = {call.id for call in calls if isinstance(call, ast.Name)}
        assert not names & {"open", "input", "print"}, path


def test_nothing_is_named_like_a_library_that_it_would_hide_when_run_as_a_script() -> None:
    used = {name.partition(".")[0] for path in (ROOT / "worker").rglob("*.py") for name in imports(path)}
    names = {path.stem for path in [*(ROOT / "worker").rglob("*.py"), *(ROOT / "crawler_plugin").rglob("*.py")]}
    assert not names & (used | {"kafka", "queue"}) - {"worker", "crawler_plugin"}


def test_what_is_on_the_wire_can_be_imported_without_scrapy() -> None:
    modules = sorted(path.stem for path in (ROOT / "crawler_plugin" / "wire").glob("*.py"))
    program = "import " + ", ".join(f"crawler_plugin.wire.{module}" for module in modules if module != "__init__")
    assert imported_by(program, of={"scrapy", "twisted", "itemadapter", "worker"}) == set()


def imported_by(program: str, *, of: set[str]) -> set[str]:
    """Which of these libraries are loaded after the program has run."""
    program = f"{program}\nimport sys; print(*sys.modules.keys() & {of}, file=sys.stderr)"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(ended.stderr.split())


@pytest.mark.parametrize("argument", ["--version", "--help"])
def test_help_comes_without_the_heavy_libraries(argument: str) -> None:
    heavy = {"numpy", "numba", "kafka", "jieba", "pydantic", "yaml", "scrapy", "rich"}
    program = f"from worker.cli.main import main\ntry:\n    main([{argument!r}])\nexcept SystemExit:\n    pass"
    assert imported_by(program, of=heavy) == set()


def test_commands_that_need_no_broker_load_neither_kafka_nor_what_speaks_with_it(tmp_path: Path) -> None:
    texts = [f"Saucers {word} over the old harbour {word} at night, says the master {number}" for number, word in WORDS]
    docs, pairs = tmp_path / "docs.jsonl", tmp_path / "pairs.jsonl"
    docs.write_text("".join(json.dumps({"id": str(n), "text": text}) + "\n" for n, text in enumerate(texts)))
    pairs.write_text("".join(json.dumps({"a": str(n), "b": str(n + 1), "label": n % 2}) + "\n" for n in range(7)))
    labelled = ["--docs", str(docs), "--pairs", str(pairs), "--processes", "1"]
    commands = [
        ["evaluate", *labelled, "--methods", "simhash,accurate"],
        ["calibrate", *labelled],
        ["explain", "--text", texts[0], texts[1]],
        ["idf", "--docs", str(docs), "--least", "1", "--out", str(tmp_path / "idf.txt")],
    ]
    program = f"""
import sys
from worker.cli.main import main
for arguments in {commands!r}:
    code = main(arguments)
    loaded = [name for name in sys.modules if name.partition(".")[0] == "kafka" or name.startswith(
        ("worker.stream.kafka", "crawler_plugin.wire.kafka_client.connection", "worker.stream.log"))]
    print(arguments[0], code, loaded, file=sys.stderr)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert ended.stderr.splitlines() == [f"{command[0]} 0 []" for command in commands]


def test_judging_without_kafka_loads_no_kafka_client() -> None:
    program = (
        "from worker.local import Deduplicator\nwith Deduplicator() as one: one.judge('http://a.example/', b'<p>a</p>')"
    )
    assert imported_by(program, of={"kafka", "prometheus_client", "scrapy"}) == set()


def test_the_plugin_can_be_imported_without_the_worker_s_libraries() -> None:
    heavy = {"numpy", "numba", "pydantic", "jieba"}
    # itemadapter looks for pydantic by itself, to know its items.
    assert imported_by("import crawler_plugin", of=heavy) <= imported_by("import scrapy, itemadapter", of=heavy)
