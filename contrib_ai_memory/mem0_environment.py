"""Mem0's environment. It reads it once, when it is imported."""

import os
from pathlib import Path


def settle(folder: str | Path) -> None:
    """Switch off Mem0's telemetry, and have it use `folder` in place of ~/.mem0.

    Called when Django starts, before anything can import Mem0, and again for the folder in force.
    """
    os.environ["MEM0_TELEMETRY"] = "False"
    os.environ["MEM0_DIR"] = os.path.join(folder, "mem0")
