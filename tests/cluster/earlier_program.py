"""The program before this one, as far as workers of both meet: its batches and answers have the version before.

``python -P earlier_program.py arguments of python -m worker``. Blocks of the index are as they are now.
"""

from __future__ import annotations

import runpy
import sys
from typing import Final

from crawler_plugin.wire.messages import VERSIONS, Answer, Batch

EARLIER: Final = {kind: VERSIONS[kind] - 1 for kind in (Batch, Answer)}
COMMAND: Final = (sys.executable, "-P", __file__)

if __name__ == "__main__":
    VERSIONS.update(EARLIER)
    runpy.run_module("worker", run_name="__main__", alter_sys=True)
