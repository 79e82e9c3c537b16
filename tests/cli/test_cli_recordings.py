"""Recordings of other agents through the real commands: each is shown, checked, packed, and every id recalled."""

import os
import re
from pathlib import Path

import pytest
from command_line import holdfast

from holdfast.packing.validator import check
from holdfast.store import SqliteStore

FOLDER = Path(os.environ.get("HOLDFAST_RECORDINGS", "")) / "raw"
FILES = sorted(FOLDER.iterdir()) if "HOLDFAST_RECORDINGS" in os.environ and FOLDER.is_dir() else []
MARK = re.compile(r'Recall\(id=\\?"([ae]\w+)')


@pytest.mark.slow
@pytest.mark.recordings
@pytest.mark.skipif(not FILES, reason="HOLDFAST_RECORDINGS names no folder with raw recordings")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name[:24])
def test_a_recording_from_disk_goes_through_every_command(path: Path, store: Path) -> None:
    seen = holdfast("show", path, "--json")
    assert seen.code == 0, seen.err
    assert holdfast("check", path).code in (0, 1)
    packed = holdfast("pack", path, "--budget", "20k", "--json")
    assert packed.code == 0, packed.err
    found = packed.json
    assert found["tokens"] <= found["limit"]
    assert check(found["messages"], "openai") == ()
    ids = {cut["id"] for cut in found["cuts"]} | set(MARK.findall(packed.text))
    with SqliteStore(store) as opened:
        assert {opened.resolve(id_).id for id_ in ids} == ids
    middle = max(seen.json["steps"] // 2, 1)
    assert holdfast("pack", path, "--at", middle, "--budget", "20k", "--to", "anthropic").code == 0
