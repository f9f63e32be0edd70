"""``python -m tests.broker.class_cache FILE``: the classes of Kafka as the JVM holds them in memory.

Tests start tens of brokers. A broker with this file (``-XX:SharedArchiveFile``, in ``JDK_JAVA_OPTIONS``) does not read
and check its classes again, which is half of the cost of a start; a broker with other classes ignores the file.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from worker.broker.configuration import DEFAULT_HEAP_MB, java_options
from worker.broker.jars import classpath, java
from worker.broker.server import LocalBroker


def main(file: Path) -> None:
    """Start a broker that writes down the classes that it loads, and make the file from that list."""
    with TemporaryDirectory() as folder:
        loaded, made = Path(folder) / "loaded", Path(folder) / "made"
        os.environ["JDK_JAVA_OPTIONS"] = f"-XX:DumpLoadedClassList={loaded}"
        with LocalBroker(data_dir=Path(folder) / "data", announce=print):
            pass
        del os.environ["JDK_JAVA_OPTIONS"]
        options = [*java_options(DEFAULT_HEAP_MB), f"-XX:SharedClassListFile={loaded}", f"-XX:SharedArchiveFile={made}"]
        subprocess.run([java(), *options, "-Xshare:dump", "-cp", ":".join(map(str, classpath(print)))], check=True)
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(made.read_bytes())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
