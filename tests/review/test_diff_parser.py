"""A diff's text becomes files and hunks, exactly, and what is none is named with its line."""

import contextlib
import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import InputError
from holdfast.review.diff import apply_hunks, revert_hunks, slice_hunk
from holdfast.review.diff_parser import parse_diff
from holdfast.review.git_changes import read_diff
from holdfast.review.versions import decode_text
from support.review_repos import Repo

HEAD = "diff --git a/x.py b/x.py\nindex 1111111..2222222 100644\n--- a/x.py\n+++ b/x.py\n"


def only(text):
    (file,) = parse_diff(text)
    return file


def test_lines_have_their_numbers_and_headings():
    file = only(HEAD + "@@ -10,3 +12,4 @@ def f():\n a\n-b\n+B\n+C\n c\n")
    (hunk,) = file.hunks
    assert (file.path, file.change, file.old_mode, file.new_mode) == ("x.py", "modified", "100644", "100644")
    assert (hunk.old_start, hunk.old_count, hunk.new_start, hunk.new_count) == (10, 3, 12, 4)
    assert hunk.heading == "def f():"
    assert [(line.kind, line.old, line.new, line.text) for line in hunk.lines] == [
        (" ", 10, 12, "a"),
        ("-", 11, 0, "b"),
        ("+", 0, 13, "B"),
        ("+", 0, 14, "C"),
        (" ", 12, 15, "c"),
    ]


def test_lines_that_look_like_heads_are_lines():
    file = only(HEAD + "@@ -1,3 +1,3 @@\n--- a/y\n-diff --git a/z b/z\n+++ b/y\n+@@ -1 +1 @@\n \n")
    assert [(line.kind, line.text) for line in file.hunks[0].lines] == [
        ("-", "-- a/y"),
        ("-", "diff --git a/z b/z"),
        ("+", "++ b/y"),
        ("+", "@@ -1 +1 @@"),
        (" ", ""),
    ]


def test_how_lines_end_is_kept():
    (hunk,) = only(HEAD + "@@ -1,2 +1,2 @@\n-a\r\n-b\n\\ No newline at end of file\n+a\n+b\r\n").hunks
    assert [(line.text, line.end) for line in hunk.lines] == [
        ("a", "\r\n"),
        ("b", ""),
        ("a", "\n"),
        ("b", "\r\n"),
    ]
    (last,) = only(HEAD + "@@ -1 +1 @@\n-b\n+c\n\\ Kein Zeilenumbruch am Dateiende.\n").hunks
    assert [line.end for line in last.lines] == ["\n", ""]


def test_lines_end_at_line_feeds_only():
    (hunk,) = only(HEAD + "@@ -1 +1 @@\n-a\x0cb\u2028c\x85d\x1ee\n+a\rb\n").hunks
    assert [line.text for line in hunk.lines] == ["a\x0cb\u2028c\x85d\x1ee", "a\rb"]


def test_a_diff_that_went_through_a_mailer():
    text = (HEAD + "@@ -1,2 +1,2 @@\n a\n-b\n+c\n").replace("\n", "\r\n")
    (hunk,) = only(text).hunks
    assert [(line.text, line.end) for line in hunk.lines] == [("a", "\n"), ("b", "\n"), ("c", "\n")]


def test_empty_context_lines_may_have_lost_their_space():
    (hunk,) = only(HEAD + "@@ -1,3 +1,3 @@\n-a\n+b\n\n c\n").hunks
    assert [(line.kind, line.text) for line in hunk.lines] == [("-", "a"), ("+", "b"), (" ", ""), (" ", "c")]


def test_files_without_lines():
    text = (
        "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n"
        "diff --git a/a b.txt b/c d e.txt\nsimilarity index 100%\nrename from a b.txt\nrename to c d e.txt\n"
        "diff --git a/o b/p\nsimilarity index 100%\ncopy from o\ncopy to p\n"
        "diff --git a/p q.png b/p q.png\nindex 1..2 100644\nBinary files a/p q.png and b/p q.png differ\n"
        "diff --git a/n.bin b/n.bin\nnew file mode 100644\nindex 0..2\nGIT binary patch\nliteral 3\nKcmZQzWMXDv\n\n"
        "diff --git a/empty b/empty\nnew file mode 100644\nindex 0..e69de29\n"
        "diff --git a/gone b/gone\ndeleted file mode 100644\nindex e69de29..0\n"
        "diff --git a/lib b/lib\nindex 1..2 160000\n--- a/lib\n+++ b/lib\n@@ -1 +1 @@\n-Subproject commit 1\n"
        "+Subproject commit 2\n"
    )
    files = parse_diff(text)
    assert [(file.path, file.old_path, file.change) for file in files] == [
        ("run.sh", "run.sh", "modified"),
        ("c d e.txt", "a b.txt", "renamed"),
        ("p", "o", "copied"),
        ("p q.png", "p q.png", "modified"),
        ("n.bin", "n.bin", "added"),
        ("empty", "empty", "added"),
        ("gone", "gone", "deleted"),
        ("lib", "lib", "modified"),
    ]
    assert [file.is_binary for file in files] == [False, False, False, True, True, False, False, False]
    assert [file.is_submodule for file in files] == [False] * 7 + [True]


def test_a_file_that_was_empty_is_not_new():
    file = only("diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+a\n")
    assert file.change == "modified"


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("a/x.c", "b/x.c", "x.c"),
        ("old-1.0/src/x.c", "new-1.1/src/x.c", "src/x.c"),
        ("x.c.orig", "x.c", "x.c"),
        ("x.c\t2024-01-01 00:00:00.000000000 +0000", "x.c\t2024-01-02 00:00:00.000000000 +0000", "x.c"),
        ("old.c", "new.c", "new.c"),
    ],
    ids=["prefixes", "folders", "orig", "times", "two-files"],
)
def test_diffs_that_are_not_gits(old, new, path):
    file = only(f"Only in b: y\ndiff -u old new\n--- {old}\n+++ {new}\n@@ -1 +1 @@\n-a\n+b\n")
    assert (file.path, file.change) == (path, "modified")


def test_files_come_and_go_in_diffs_that_are_not_gits():
    text = (
        "--- /dev/null\n+++ b/new.c\n@@ -0,0 +1 @@\n+a\n--- old/gone.c\n+++ new/gone.c\n@@ -1 +0,0 @@\n-a\n"
        "Binary files old/p.png and new/p.png differ\n"
    )
    assert [(file.path, file.change, file.is_binary) for file in parse_diff(text)] == [
        ("new.c", "added", False),
        ("gone.c", "deleted", False),
        ("p.png", "modified", True),
    ]


def test_without_prefixes():
    text = "diff --git a/x a/x\nindex 1..2 100644\n--- a/x\n+++ a/x\n@@ -1 +1 @@\n-a\n+b\n"
    assert only(text).path == "a/x", "a folder named like a prefix"


def test_what_stands_around_a_diff_is_passed_over():
    text = (
        "From 123 Mon Sep 17 00:00:00 2001\nSubject: [PATCH] x\n\n\\ a line\n--- not a head\n---\n x.py | 2 +-\n\n"
        + HEAD
        + "@@ -1 +1 @@\n-a\n+b\n-- \n2.39.5\n\n"
    )
    assert len(only(text).hunks[0].lines) == 2


def test_a_merged_hunk_does_not_crash():
    """With a column for each parent; it is read as the change to the first."""
    text = (
        "diff --cc x.py\nindex 1,2..3\n--- a/x.py\n+++ b/x.py\n@@@ -1,4 -1,3 +1,4 @@@ class A:\n"
        "  a\n- old1\n -old2\n +ours\n++both\n  z\n"
    )
    (hunk,) = only(text).hunks
    assert [(line.kind, line.text) for line in hunk.lines] == [
        (" ", "a"),
        ("-", "old1"),
        (" ", "ours"),
        ("+", "both"),
        (" ", "z"),
    ]
    assert (hunk.old_count, hunk.new_count, hunk.heading) == (4, 4, "class A:")


def test_merges_of_two_and_three_parents_read_like_the_diff_to_the_first(tmp_path):
    repo = Repo(tmp_path)
    text = "".join(f"line {i}\n" for i in range(40))
    repo.commit({"a.txt": text, "b.txt": text})
    for i, name in enumerate(("one", "two")):
        repo.git("checkout", "-q", "-b", name, "main")
        repo.commit({"a.txt": text.replace(f"line {5 + 10 * i}\n", f"{name}\n")})
    repo.git("checkout", "-q", "main")
    repo.commit({"a.txt": text.replace("line 35\n", "main\n")})
    repo.git("merge", "-q", "--no-commit", "one", "two", check=False)
    repo.write("a.txt", text.replace("line 5\n", "by hand\n").replace("line 35\n", "last\n"))
    repo.git("add", "-A")
    tree = repo.git("write-tree")
    for parents in (("main", "one"), ("main", "one", "two")):
        merge = repo.git("commit-tree", tree, *(w for p in parents for w in ("-p", p)), "-m", "m")
        merged = parse_diff(repo.git("show", "--format=", "--cc", merge) + "\n")
        old = repo.git("show", "main:a.txt") + "\n"
        (file,) = (file for file in merged if file.path == "a.txt")
        assert file.hunks
        assert apply_hunks(old, file.hunks) is not None, "every hunk stands in the first parent"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (HEAD + "@@ -1,3 +1,1 @@\n-a\n+b\n", 5),
        (HEAD + "@@ -1 +1 @@\n-a\n*b\n", 7),
        (HEAD + "@@ -1 +1 @@\n-a\n-b\n", 7),
        (HEAD + "@@ -1,x +1 @@\n-a\n", 5),
        (HEAD + "@@ -0,0 +0,0 @@\n", 5),
        (HEAD + "@@ -1," + "9" * 5000 + " +1 @@\n-a\n", 5),
        ("@@ -1 +1 @@\n-a\n+b\n", 1),
        ("diff --cc x\n--- a/x\n+++ b/x\n@@@ -1,4 -1,3 +1,4 @@@\n  a\n", 4),
        ("diff --cc x\n--- a/x\n+++ b/x\n@@@ -1,4 +1,4 @@@\n  a\n", 4),
    ],
    ids=["short", "sign", "long", "head", "empty", "digits", "no-file", "merged-short", "merged-head"],
)
def test_what_cannot_be_read_is_named_with_its_line(text, line):
    with pytest.raises(InputError, match=f"line {line} of the diff") as caught:
        parse_diff(text)
    assert caught.value.hint


def test_a_text_without_a_diff():
    assert parse_diff("") == parse_diff("\n \n") == ()
    with pytest.raises(InputError, match="no diff"):
        parse_diff("hello\nworld\n")


@given(st.text(alphabet=st.sampled_from('@-+ \\\n\r"ab/1,dif g0\t*'), max_size=200))
def test_no_text_ends_in_anything_but_files_or_an_input_error(text):
    for lead in ("", HEAD, "diff --git ", "diff --cc x\n@@@ -1 -1 +1 @@@\n"):
        with contextlib.suppress(InputError):
            assert all(file.path is not None for file in parse_diff(lead + text))


LINES = st.lists(
    st.sampled_from(
        ["a", "b", "", "-- x", "++ y", "\tc", "d\r", "é中", "e\x0c\u2028f", "@@ -1 +1 @@", "\\ n"]
    ),
    max_size=25,
)
TEXTS = st.builds(lambda lines, end: "\n".join(lines) + end, LINES, st.sampled_from(["", "\n"]))
NAMES = st.sampled_from(["a", "b c", "中", 'q"t', "d/e", "d/b f", "t\tb"])
TREES = st.dictionaries(NAMES, TEXTS, max_size=5)


@pytest.mark.slow
@settings(max_examples=25)
@given(TREES, TREES)
def test_a_diff_of_two_trees_applied_to_the_older_gives_the_newer(old_tree, new_tree):
    with tempfile.TemporaryDirectory() as folder:
        repo = Repo(Path(folder))
        commits = []
        for tree in (old_tree, new_tree):
            for place in sorted(repo.folder.glob("[!.]*"), reverse=True):
                subprocess.run(["rm", "-r", str(place)], check=True)
            for name, text in tree.items():
                repo.write(name, text)
            commits.append(repo.commit())
        diff, versions = read_diff(repo.folder, "..".join(commits))
        made = dict(old_tree)
        for file in diff.files:
            before = "" if file.change == "added" else old_tree[file.old_path]
            if file.change in ("deleted", "renamed"):
                made.pop(file.old_path, None)
            after = apply_hunks(before, file.hunks)
            assert after is not None
            assert revert_hunks(after, file.hunks) == before
            if file.change == "deleted":
                assert after == ""
                assert versions.old(file.path) == before
            else:
                made[file.path] = after
                assert versions.new(file.path) == after
        assert made == new_tree


@pytest.mark.slow
@given(LINES, LINES, st.data())
def test_parts_of_a_hunk_stand_where_they_stood(old_lines, new_lines, data):
    old, new = "\n".join(old_lines) + "\n", "\n".join(new_lines) + "\n"
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("o", old), ("n", new)):
            (Path(folder) / name).write_bytes(text.encode())
        done = subprocess.run(
            ["git", "diff", "--no-index", "--no-color", "o", "n"],
            cwd=folder,
            capture_output=True,
            check=False,
            env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull},
        )
    for file in parse_diff(decode_text(done.stdout)):
        for hunk in file.hunks:
            cut = data.draw(st.integers(0, len(hunk.lines)))
            parts = [slice_hunk(hunk, 0, cut), slice_hunk(hunk, cut, len(hunk.lines))]
            halves = [part for part in parts if part.lines]
            assert [line for part in halves for line in part.lines] == list(hunk.lines)
            for part in halves:
                olds = [line.old for line in part.lines if line.old]
                news = [line.new for line in part.lines if line.new]
                assert (part.old_count, part.new_count) == (len(olds), len(news))
                assert part.old_start == (olds[0] if olds else part.old_start)
                assert part.new_start == (news[0] if news else part.new_start)
        assert apply_hunks(old, file.hunks) == new


def test_ten_thousand_lines(tmp_path):
    repo = Repo(tmp_path)
    repo.commit({"a.txt": "".join(f"{i}\n" for i in range(5000))})
    repo.write("a.txt", "".join(f"{i} x\n" for i in range(5000)))
    diff, versions = read_diff(repo.folder, "working")
    (file,) = diff.files
    assert sum(len(hunk.lines) for hunk in file.hunks) == 10_000
    assert apply_hunks(versions.old("a.txt") or "", file.hunks) == versions.new("a.txt")


@pytest.mark.slow
def test_the_projects_own_history():
    folder = Path(__file__).parents[2]
    if not (folder / ".git").exists():
        pytest.skip("this is not a clone")
    log = subprocess.run(
        ["git", "log", "--format=%H", "-12"], cwd=folder, capture_output=True, text=True, check=False
    ).stdout.split()
    read = 0
    for commit in log:
        try:
            diff, versions = read_diff(folder, commit)
        except InputError:
            break
        for file in diff.files:
            if file.change == "modified" and not file.is_binary:
                assert apply_hunks(versions.old(file.old_path) or "", file.hunks) == versions.new(file.path)
                read += 1
    if not read:
        pytest.skip("the clone has no history")
