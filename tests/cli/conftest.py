"""Every test of the command line has a folder, a store and an environment of its own."""

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in list(os.environ):
        if name.startswith("HOLDFAST_") and name != "HOLDFAST_RECORDINGS":
            monkeypatch.delenv(name)
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOLDFAST_STORE", str(tmp_path / "store.db"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def store(own_place: Path) -> Path:
    """Where the store is, once a command has made it."""
    return own_place / "store.db"
