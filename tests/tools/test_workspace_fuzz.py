"""Ten thousand hostile paths: each is opened inside the roots or refused with one of our codes."""

import os
import random
from pathlib import Path

import pytest

from holdfast.tools.envelope import ToolError
from holdfast.tools.workspace import Workspace

PIECES = [
    "..", ".", "", "a", "b", "deep", "out", "up", "loop", "self", "gone", "file.txt", "hard", "~", "~root", "@a",
    "@../", "*", "**", "{a,b}", "[!x]", "-rf", "--", "\\..\\", "%2e%2e", "..%2f", "\0", "a\0b", "\n", "\x1b[2J",
    "\u202e", "\uff0e\uff0e", "e\u0301", "\u00e9", "\ud800", "\udcff", "x" * 255, "x" * 256, "y" * 5000, "A",
    "FILE.TXT", "proc", "self/root", "/proc/self/root", "/proc/self/cwd", "/proc/self/fd/0", "/proc/1/root",
    "/dev/null", "/dev/fd/0", "/etc/passwd", "file:///etc/passwd", "C:\\", "//", "///", "....//", "${HOME}",
    "$(id)", "`id`", " ", "con", "nul.txt", ":", "a:b", "\t",
]  # fmt: skip

PATHS = 10_000
CODES = ["ACCESS_DENIED", "INVALID_PARAM", "IS_DIRECTORY", "NOT_FOUND"]


@pytest.fixture
def home(tmp_path):
    root, outside = tmp_path / "inside", tmp_path / "outside"
    (root / "a" / "b" / "deep").mkdir(parents=True)
    outside.mkdir()
    (outside / "file.txt").write_text("secret")
    (outside / "a").mkdir()
    for folder in (root, root / "a", root / "a" / "b"):
        (folder / "file.txt").write_text("inside")
        (folder / "out").symlink_to(outside)
        (folder / "up").symlink_to("..")
        (folder / "loop").symlink_to("loop")
        (folder / "self").symlink_to(".")
        (folder / "gone").symlink_to(outside / "gone.txt")
    return tmp_path


def hostile_path(rng, home):
    pieces = rng.choices(PIECES, k=rng.randint(1, 6))
    start = rng.choice(
        ["", "", "", "/", f"{home}/inside/", f"{home}/outside/", f"{home}/inside/../outside/", "./"]
    )
    return start + rng.choice(["/", "/", "/", "//", ""]).join(pieces)


def snapshot(folder):
    return {path: path.read_bytes() if path.is_file() else b"" for path in sorted(folder.rglob("*"))}


@pytest.mark.slow
def test_ten_thousand_hostile_paths(home, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: None)
    workspace, rng = Workspace([home / "inside"]), random.Random(20_261_115)
    said = set()
    before = snapshot(home / "outside")
    seen = dict.fromkeys(["read", "listed", "written", "refused"], 0)
    for number in range(PATHS):
        path = hostile_path(rng, home)
        try:
            match number % 4:
                case 0 | 1:
                    with workspace.open_file(path) as opened:
                        assert opened.file.read() in (b"inside", b"written"), path
                    seen["read"] += 1
                case 2:
                    with workspace.open_directory(path) as directory:
                        real = Path(f"/proc/self/fd/{directory.descriptor}").readlink()
                        assert f"{real}/".startswith(f"{home}/inside/"), path
                    seen["listed"] += 1
                case 3:
                    workspace.replace_file(path, b"written")
                    seen["written"] += 1
        except ToolError as error:
            said.add((error.code, error.message.isprintable()))
            seen["refused"] += 1
    assert said == {(code, True) for code in CODES}
    assert snapshot(home / "outside") == before
    assert sorted(p.name for p in home.iterdir()) == ["inside", "outside"]
    assert min(seen.values()) > 50, seen
