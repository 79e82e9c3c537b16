"""Recordings of real agents, if the environment names a folder with them."""

import os
from pathlib import Path

import pytest


def recording_files(pattern: str = "*.jsonl.gz") -> list:
    """The files as parameters of a test; one that skips, and says why, where there are none."""
    folder = os.environ.get("HOLDFAST_RECORDINGS", "")
    files = sorted(Path(folder).glob(pattern)) if folder else []
    if files:
        return [pytest.param(f, id=f.name, marks=pytest.mark.recordings) for f in files]
    reason = f"HOLDFAST_RECORDINGS names no folder with {pattern}"
    return [pytest.param(None, id="none", marks=[pytest.mark.recordings, pytest.mark.skip(reason=reason)])]
