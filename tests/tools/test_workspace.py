"""The guard on real files: what it opens, what it refuses, and that links swapped in between are seen."""

import os
import socket
import stat

import pytest

from holdfast.errors import InputError
from holdfast.tools.envelope import ToolError
from holdfast.tools.workspace import Workspace
from support.path_swapper import PathSwapper

AS_ROOT = os.geteuid() == 0


@pytest.fixture
def home(tmp_path):
    """A root with a file, a second root, and a world outside that holds a secret."""
    for name in ("root", "other", "outside"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file.txt").write_text(name)
    (tmp_path / "root" / "sub").mkdir()
    (tmp_path / "root" / "sub" / "inner.txt").write_text("inner")
    return tmp_path


@pytest.fixture
def workspace(home):
    return Workspace([home / "root", home / "other"])


def read(workspace, path):
    with workspace.open_file(str(path)) as opened:
        return opened.file.read().decode()


def code(call, *arguments):
    with pytest.raises(ToolError) as caught:
        call(*arguments)
    return caught.value.code


def test_paths_inside_are_opened_however_they_are_spelled(workspace, home):
    for path in ("file.txt", "./sub/../file.txt", "missing/../file.txt", str(home / "root" / "file.txt")):
        assert read(workspace, path) == "root"
    assert read(workspace, home / "other" / "file.txt") == "other"
    assert read(workspace, "../other/file.txt") == "other"


def test_places_are_named_from_the_first_root(workspace, home):
    assert workspace.locate("sub/../sub/inner.txt").shown == "sub/inner.txt"
    assert workspace.locate(str(home / "root")).shown == "."
    assert workspace.locate(str(home / "other" / "x")).shown == str(home / "other" / "x")


def outside_paths(home):
    root, outside = home / "root", home / "outside"
    (root / "file-link").symlink_to(outside / "file.txt")
    (root / "relative-link").symlink_to("../outside/file.txt")
    (root / "dir-link").symlink_to(outside)
    (root / "chain").symlink_to("dir-link")
    (root / "dangling").symlink_to(outside / "new.txt")
    (root / "prefix").symlink_to(home / "root-and-more")
    (home / "root-and-more").mkdir()
    return [
        "../outside/file.txt",
        str(outside / "file.txt"),
        "sub/../../outside/file.txt",
        "file-link",
        "relative-link",
        "dir-link/file.txt",
        "chain/file.txt",
        "chain/../file.txt",
        "dangling",
        "dir-link/new/deep.txt",
        "prefix/x",
        f"/proc/self/root{outside}/file.txt",
        f"/proc/self/cwd/../../../../../..{outside}/file.txt",
        "/",
        "..",
        "/etc/passwd",
        "/dev/stdin",
    ]


def test_nothing_outside_is_read_written_listed_or_removed(workspace, home):
    for path in outside_paths(home):
        calls = [
            workspace.open_file,
            workspace.open_directory,
            workspace.status,
            lambda p: workspace.replace_file(p, b"harm"),
            workspace.remove_file,
        ]
        for call in calls:
            assert code(call, path) == "ACCESS_DENIED", path
    assert sorted(p.name for p in (home / "outside").iterdir()) == ["file.txt"]
    assert (home / "outside" / "file.txt").read_text() == "outside"
    assert list((home / "root-and-more").iterdir()) == []


def test_a_link_that_stays_inside_is_followed_and_named_by_its_place(workspace, home):
    (home / "root" / "a").symlink_to(home / "root" / "sub")
    (home / "root" / "b").symlink_to(home / "other" / "file.txt")
    (home / "root" / "c").symlink_to("sub/made.txt")
    assert read(workspace, "a/inner.txt") == "inner"
    assert workspace.locate("a/inner.txt").shown == "sub/inner.txt"
    assert read(workspace, "b") == "other"
    workspace.replace_file("c", b"made")
    assert (home / "root" / "c").is_symlink()
    assert (home / "root" / "sub" / "made.txt").read_text() == "made"


def test_loops_and_long_chains_of_links_are_refused(workspace, home):
    root = home / "root"
    (root / "loop").symlink_to("loop")
    (root / "ping").symlink_to("pong")
    (root / "pong").symlink_to("ping")
    for number in range(3000):
        (root / f"l{number}").symlink_to(f"l{number + 1}")
    for path in ("loop", "ping/x", "l0"):
        assert code(workspace.open_file, path) in ("ACCESS_DENIED", "NOT_FOUND")
        assert code(workspace.replace_file, path, b"") in ("ACCESS_DENIED", "NOT_FOUND")


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("", "INVALID_PARAM"),
        ("a\0b", "INVALID_PARAM"),
        ("\ud800", "INVALID_PARAM"),
        ("x" * 300, "INVALID_PARAM"),
        ("x/" * 3000, "INVALID_PARAM"),
        ("missing.txt", "NOT_FOUND"),
        ("file.txt/below", "NOT_FOUND"),
        ("~/file.txt", "NOT_FOUND"),
        ("@file.txt", "NOT_FOUND"),
        ("FILE.TXT", "NOT_FOUND"),
        ("*.txt", "NOT_FOUND"),
        ("sub", "IS_DIRECTORY"),
        (".", "IS_DIRECTORY"),
    ],
    ids=lambda value: value[:12].encode("unicode_escape").decode() or "empty",
)
def test_every_other_trouble_has_its_code(workspace, path, wanted):
    assert code(workspace.open_file, path) == wanted


def test_hints_say_what_a_tilde_and_an_at_are_not(workspace):
    for path, words in (("~/x", "not expanded"), ("@x", "Leave out the `@`")):
        with pytest.raises(ToolError) as caught:
            workspace.open_file(path)
        assert words in caught.value.hint


def test_what_is_no_regular_file_is_not_opened(workspace, home):
    os.mkfifo(home / "root" / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(home / "root" / "socket"))
        for name in ("pipe", "socket"):
            assert code(workspace.open_file, name) == "INVALID_PARAM"
            assert code(workspace.replace_file, name, b"") == "INVALID_PARAM"
            assert code(workspace.remove_file, name) == "INVALID_PARAM"


@pytest.mark.skipif(AS_ROOT, reason="root may read everything")
def test_what_the_system_refuses_is_said(workspace, home):
    (home / "root" / "file.txt").chmod(0)
    assert code(workspace.open_file, "file.txt") == "PERMISSION_DENIED"
    assert code(workspace.replace_file, "file.txt", b"") == "PERMISSION_DENIED"


def test_a_write_keeps_extended_attributes(workspace, home):
    file = home / "root/labelled.txt"
    file.write_text("old")
    try:
        os.setxattr(file, "user.label", b"kept")
    except (OSError, AttributeError):
        pytest.skip("there are no extended attributes here")
    workspace.replace_file("labelled.txt", b"new")
    assert (file.read_text(), os.getxattr(file, "user.label")) == ("new", b"kept")


def test_a_write_keeps_the_mode_and_makes_missing_folders(workspace, home):
    script = home / "root" / "run.sh"
    script.write_text("old")
    script.chmod(0o751)
    status = workspace.replace_file("run.sh", b"new")
    assert (script.read_text(), stat.S_IMODE(script.stat().st_mode)) == ("new", 0o751)
    assert status.st_ino == script.stat().st_ino
    workspace.replace_file("deep/er/new.txt", "ä".encode())
    plain = home / "plain"
    plain.touch()
    assert (home / "root/deep/er/new.txt").stat().st_mode == plain.stat().st_mode
    assert sorted(p.name for p in (home / "root" / "deep" / "er").iterdir()) == ["new.txt"]


def test_a_write_through_a_hard_link_does_not_reach_the_other_name(workspace, home):
    (home / "root" / "hard").hardlink_to(home / "outside" / "file.txt")
    with workspace.open_file("hard") as opened:
        assert opened.status.st_nlink == 2
    workspace.replace_file("hard", b"mine")
    assert (home / "root" / "hard").read_text() == "mine"
    assert (home / "outside" / "file.txt").read_text() == "outside"


def test_a_failed_write_leaves_the_old_file_and_no_other(workspace, home):
    with pytest.raises(TypeError):
        workspace.replace_file("file.txt", "text is no bytes")
    assert read(workspace, "file.txt") == "root"
    assert sorted(p.name for p in (home / "root").iterdir()) == ["file.txt", "sub"]


def test_a_directory_is_listed_through_its_descriptor(workspace, home):
    (home / "root" / "link").symlink_to("/etc/passwd")
    with workspace.open_directory(".") as directory:
        (home / "root").rename(home / "moved")
        assert [(e.name, e.kind) for e in directory.entries()] == [
            ("file.txt", "file"),
            ("link", "link"),
            ("sub", "directory"),
        ]


def test_a_root_that_was_replaced_is_no_root_any_more(workspace, home):
    (home / "root").rename(home / "was-root")
    (home / "root").mkdir()
    (home / "root" / "file.txt").write_text("another")
    assert code(workspace.open_file, "file.txt") == "ACCESS_DENIED"
    (home / "root" / "file.txt").unlink()
    (home / "root").rmdir()
    (home / "root").symlink_to(home / "outside")
    assert code(workspace.open_file, "file.txt") == "ACCESS_DENIED"


def test_a_root_must_be_a_directory(home):
    with pytest.raises(InputError, match="is not a directory"):
        Workspace([home / "root" / "file.txt"])


def test_a_file_removed_is_gone(workspace, home):
    workspace.remove_file("file.txt")
    assert not (home / "root" / "file.txt").exists()
    assert code(workspace.remove_file, "sub") == "IS_DIRECTORY"


ROUNDS = 6000


def raced(call, rounds=ROUNDS):
    """What came of calling again and again: how often it worked, and the codes of the refusals."""
    worked, refused = 0, set()
    for _ in range(rounds):
        try:
            call()
            worked += 1
        except ToolError as error:
            refused.add(error.code)
    return worked, refused


@pytest.mark.slow
def test_a_directory_swapped_for_a_link_is_never_followed_outside(workspace, home):
    def good(path):
        path.mkdir()
        (path / "file.txt").write_text("good")

    def look():
        assert read(workspace, "d/file.txt") == "good"

    with PathSwapper(home / "root" / "d", good, lambda path: path.symlink_to(home / "outside")):
        worked, refused = raced(look)
    assert worked
    assert {"ACCESS_DENIED", "NOT_FOUND"} & refused


@pytest.mark.slow
def test_a_file_swapped_for_a_link_is_never_followed_outside(workspace, home):
    def look():
        assert read(workspace, "f") == "good"

    with PathSwapper(
        home / "root" / "f",
        lambda path: path.write_text("good"),
        lambda path: path.symlink_to(home / "outside" / "file.txt"),
    ):
        worked, refused = raced(look)
    assert worked
    assert {"ACCESS_DENIED", "NOT_FOUND"} & refused


@pytest.mark.slow
def test_no_write_lands_outside_while_directories_are_swapped_for_links(workspace, home, monkeypatch):
    # What the disk does at a crash is not the question here, and thousands of syncs would take a minute.
    monkeypatch.setattr(os, "fsync", lambda _: None)
    with PathSwapper(
        home / "root" / "d", lambda path: path.mkdir(), lambda path: path.symlink_to(home / "outside")
    ):
        worked, _ = raced(lambda: workspace.replace_file("d/new.txt", b"x"), rounds=2000)
    assert worked
    assert sorted(p.name for p in (home / "outside").iterdir()) == ["file.txt"]
