"""Kept versions: the very bytes or nothing, in memory and in a folder that two processes share."""

import stat
import subprocess
import sys

import pytest

from holdfast.tools.files.snapshots import FolderSnapshots, MemorySnapshots, content_hash


@pytest.fixture(params=["memory", "folder"])
def snapshots(request, tmp_path):
    return MemorySnapshots() if request.param == "memory" else FolderSnapshots(tmp_path / "kept")


def test_what_is_kept_comes_back(snapshots):
    for raw in (b"", b"one\r\n", b"\xff\0" * 1000):
        assert snapshots.keep(raw) == content_hash(raw)
        assert snapshots.get(content_hash(raw)) == raw
    assert snapshots.keep(b"") == content_hash(b"")
    for unknown in (content_hash(b"other"), "", "../../etc/passwd", "x" * 64):
        assert snapshots.get(unknown) is None


def test_memory_lets_go_of_the_oldest():
    snapshots = MemorySnapshots(most=10)
    ids = [snapshots.keep(raw) for raw in (b"aaaa", b"bbbb", b"aaaa", b"cccc")]
    assert [snapshots.get(id_) for id_ in ids] == [b"aaaa", None, b"aaaa", b"cccc"]
    assert snapshots.get(snapshots.keep(b"x" * 11)) is None
    assert snapshots.get(ids[3]) == b"cccc"


def test_a_folder_is_its_owners_alone(tmp_path):
    snapshots = FolderSnapshots(tmp_path / "kept")
    snapshots.keep(b"secret")
    modes = {stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "kept").rglob("*") if p.is_file()}
    folders = {stat.S_IMODE(p.stat().st_mode) for p in [tmp_path / "kept", *(tmp_path / "kept").iterdir()]}
    assert (modes, folders) == ({0o600}, {0o700})


def test_a_damaged_text_is_missing_and_written_again(tmp_path):
    snapshots = FolderSnapshots(tmp_path)
    id_ = snapshots.keep(b"whole")
    (path,) = (p for p in tmp_path.rglob("*") if p.is_file())
    path.write_bytes(b"holes")
    assert snapshots.get(id_) is None
    snapshots.keep(b"whole")
    assert snapshots.get(id_) == b"whole"


def test_processes_may_share_a_folder(tmp_path):
    script = (
        "import sys; from holdfast.tools.files.snapshots import FolderSnapshots\n"
        "snapshots = FolderSnapshots(sys.argv[1])\n"
        "for n in range(60): snapshots.keep(str(n).encode() * 1000)"
    )
    running = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "kept")]) for _ in range(3)]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    snapshots = FolderSnapshots(tmp_path / "kept")
    assert all(snapshots.get(content_hash(str(n).encode() * 1000)) for n in range(60))
    assert len([p for p in (tmp_path / "kept").rglob("*") if p.is_file()]) == 60
