"""MinHash as datatrove does it, with its defaults; run by a Python that has datatrove, which
this project does not need.

``python datatrove_minhash.py TEXTS OUT``: the numbers (``id``) of the texts that are thrown away go to
``OUT/thrown-away.jsonl``. Its tasks take files, so the texts are cut into as many as there are cores.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
from pathlib import Path


def main(texts: Path, out: Path) -> None:
    """All four steps of datatrove's example ``minhash_deduplication.py``, each with a folder of its own."""
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.dedup import (
        MinhashDedupBuckets,
        MinhashDedupCluster,
        MinhashDedupFilter,
        MinhashDedupSignature,
    )
    from datatrove.pipeline.dedup.minhash import MinhashConfig
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers import JsonlWriter

    cores = os.cpu_count() or 1
    parts = out / "parts"
    parts.mkdir(parents=True)
    with texts.open("rb") as lines:
        files = [(parts / f"{number:03}.jsonl").open("wb") for number in range(cores)]
        for number, line in enumerate(lines):
            files[number % cores].write(line)
        for part in files:
            part.close()
    config = MinhashConfig()
    folders = {name: str(out / name) for name in ("signatures", "buckets", "clusters", "kept", "removed")}
    removed = JsonlWriter(folders["removed"])
    for tasks, steps in (
        (cores, [JsonlReader(str(parts)), MinhashDedupSignature(folders["signatures"], config)]),
        (config.num_buckets, [MinhashDedupBuckets(folders["signatures"], folders["buckets"], config=config)]),
        (1, [MinhashDedupCluster(folders["buckets"], folders["clusters"], config=config)]),
        (
            cores,
            [
                JsonlReader(str(parts)),
                MinhashDedupFilter(folders["clusters"], exclusion_writer=removed),
                JsonlWriter(folders["kept"]),
            ],
        ),
    ):
        logs = str(out / "logs" / type(steps[-1]).__name__)
        LocalPipelineExecutor(steps, tasks=tasks, workers=cores, logging_dir=logs, start_method="spawn").run()
    with (out / "thrown-away.jsonl").open("w", encoding="utf-8") as found:
        for file in sorted(Path(folders["removed"]).glob("*.gz")):
            with gzip.open(file, "rt", encoding="utf-8") as lines:
                found.writelines(f"{int(json.loads(line)['id'])}\n" for line in lines)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
