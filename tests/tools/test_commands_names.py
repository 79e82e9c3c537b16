"""Names that commands hand to each other: what is allowed never shows a file outside, whatever files are called."""

import shutil
import subprocess

import pytest

from holdfast.messages import ToolCall
from holdfast.tools.permissions import gate
from holdfast.tools.permissions.decision import decide
from holdfast.tools.permissions.gate import call_context
from holdfast.tools.permissions.tool_rules import default_permissions
from holdfast.tools.workspace import Workspace

SECRET = "nobody inside knows this"

COMMANDS = [
    "find . | xargs cat",
    "find . -type f | xargs cat",
    "find . -name '*.txt' | xargs cat",
    "find src -name '*.txt' | xargs cat",
    "find . -type f -print0 | xargs -0 cat",
    "find . -type f | sort | grep -v zzz | head -50 | xargs -n 2 cat",
    "find . -type f | xargs -I{} head -2 {}",
    "find . -type f -print0 | xargs -0 grep -l . | xargs cat",
    "find . -type f | while read -r f; do head -2 \"$f\"; done",
    "find . -type f | while read f; do head -2 $f; done",
    "find . -exec cat {} +",
    "find . -type f -exec cat {} ';'",
    "find -L . -type f -exec cat {} +",
    "cat $(find . -name '*.txt')",
    "for f in *; do cat \"$f\"; done",
    "for f in *; do cat $f; done",
    "for f in src/*.txt; do cat $f; done",
    "for f in $(find . -name '*.txt'); do cat $f; done",
    "ls | xargs cat",
    "ls *.txt | xargs cat",
    "grep -rl . . | xargs cat",
    "grep -rl --include='*.txt' . | xargs cat",
    "grep -R . .",
    "grep -R . src",
    "diff -r src src2",
    "git ls-files | xargs cat",
    "git ls-files -z | xargs -0 cat",
    "cat src/*",
    "cat */*.txt",
]  # fmt: skip


def decoy(folder, name):
    """A file whose path, read in another way, is that of the secret."""
    folder.mkdir(parents=True)
    (folder / name).write_text("a decoy\n")


def blank(root):
    decoy(root / "src" / "x .." / "outside", "secret.txt")


def blank_at_the_top(root):
    decoy(root / "x .." / "outside", "secret.txt")


def quotes(root):
    decoy(root / "'.." / "outside", "'secret.txt")


def backslash(root):
    decoy(root / ".\\." / "outside", "secret.txt")


def line_break(root):
    decoy(root / "x\n.." / "outside", "secret.txt")


def link(root):
    (root / "src" / "link.txt").symlink_to("../../outside/secret.txt")


def deep_link(root):
    (root / "src" / "deep").mkdir()
    (root / "src" / "deep" / "b").symlink_to("../../../outside/secret.txt")


def link_to_a_folder(root):
    (root / "src" / "folder").symlink_to("../../outside")


def link_to_a_link(root):
    (root / "other").mkdir()
    (root / "other" / "o.txt").symlink_to("../../outside/secret.txt")
    (root / "src" / "near").symlink_to("../other")


def pattern(root):
    (root / "src" / "*").write_text("a star\n")


HOSTILE = [
    blank, blank_at_the_top, quotes, backslash, line_break,
    link, deep_link, link_to_a_folder, link_to_a_link, pattern,
]  # fmt: skip


@pytest.fixture
def root(tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text(SECRET + "\n")
    for name in ("src", "src2"):
        (tmp_path / "root" / name).mkdir(parents=True)
        (tmp_path / "root" / name / "a.txt").write_text(f"text of {name}\n")
    (tmp_path / "root" / "top.txt").write_text("text of the top\n")
    return tmp_path / "root"


def verdict(command, root, cwd="."):
    call = ToolCall("1", "Bash", {"command": command})
    return decide(
        call, "edit", default_permissions(), call_context(call, Workspace([root]), cwd, is_read_only=False)
    ).verdict


def in_a_repository(root):
    if not shutil.which("git"):
        pytest.skip("git is not installed")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    subprocess.run(["git", "add", "-A"], cwd=root, check=True, capture_output=True)


@pytest.mark.parametrize("command", COMMANDS, ids=str)
def test_among_plain_names_nothing_is_asked(root, command):
    assert verdict(command, root) == "allow"


@pytest.mark.slow
@pytest.mark.parametrize("make", HOSTILE, ids=lambda make: make.__name__)
def test_what_is_allowed_shows_nothing_from_outside(root, make):
    make(root)
    in_a_repository(root)
    shown = []
    for command in COMMANDS:
        done = subprocess.run(
            ["bash", "-c", command], cwd=root, capture_output=True, check=False, stdin=subprocess.DEVNULL
        )
        if SECRET.encode() in done.stdout + done.stderr:
            shown.append(command)
    assert [command for command in shown if verdict(command, root) == "allow"] == []
    if make is not pattern:
        assert shown, "none of the commands was misled, so this shows nothing"


def test_names_elsewhere_do_not_matter(root):
    blank_at_the_top(root)
    (root / "a file.pdf").write_text("")
    deep_link(root)
    for command in (
        "find src -name '*.txt' | xargs cat",
        "find . -name '*.py' | xargs wc -l",
        "find src -type f -exec cat {} +",
        "for f in *.txt; do cat $f; done",
    ):
        assert verdict(command, root) == "allow", command
    assert verdict("for f in *; do cat $f; done", root) == "ask"
    assert verdict('for f in *; do cat "$f"; done', root) == "allow"


def test_a_name_that_looks_like_an_option_is_asked_about(root):
    (root / "-s").write_text("")
    assert verdict("ls | xargs cat", root) == "ask"
    assert verdict("git ls-files -z | xargs -0 cat", root) == "ask"
    assert verdict("find . | xargs cat", root) == "ask"
    assert verdict("find . -print0 | xargs -0 cat", root) == "allow"


def test_too_many_names_are_not_looked_through(root, monkeypatch):
    monkeypatch.setattr(gate, "MOST_BELOW", 3)
    assert verdict("find . | xargs cat", root) == "ask"
    assert verdict("grep -R x src", root) == "allow"


def test_a_link_to_above_ends(root):
    (root / "src" / "up").symlink_to("..")
    assert verdict("find . -exec cat {} +", root) == "allow"
    assert verdict("grep -R x .", root) == "allow"
    (root / "src" / "top").symlink_to("../..")
    assert verdict("find . -exec cat {} +", root) == "ask"
