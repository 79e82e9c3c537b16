"""Where the store is when nobody says."""

from pathlib import Path

import pytest

from holdfast.store import default_path

HOME = Path.home()


@pytest.mark.parametrize(
    ("environ", "platform", "expected"),
    [
        ({"HOLDFAST_STORE": "/srv/hf.db", "XDG_DATA_HOME": "/data"}, "linux", Path("/srv/hf.db")),
        ({"HOLDFAST_STORE": "~/hf.db"}, "linux", HOME / "hf.db"),
        ({"XDG_DATA_HOME": "/data"}, "linux", Path("/data/holdfast/store.db")),
        ({"XDG_DATA_HOME": "relative"}, "linux", HOME / ".local/share/holdfast/store.db"),
        ({"HOLDFAST_STORE": ""}, "linux", HOME / ".local/share/holdfast/store.db"),
        ({}, "darwin", HOME / "Library/Application Support/holdfast/store.db"),
        ({"LOCALAPPDATA": "/appdata"}, "win32", Path("/appdata/holdfast/store.db")),
        ({}, "win32", HOME / "AppData/Local/holdfast/store.db"),
    ],
)
def test_default_path(environ: dict[str, str], platform: str, expected: Path) -> None:
    assert default_path(environ, platform) == expected
