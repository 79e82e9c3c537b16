"""Patches: what git takes, we take with the same result; what we write, git takes."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.review.patches import AppliedPatch, try_patch, write_patch

TEXT = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n"
LINES = st.lists(
    st.sampled_from(["a", "b", "c", "  a", "", "x\ty", "-- b", "++ c", "@@ d", "\\ e"]), max_size=24
)
EDITS = st.lists(
    st.tuples(st.integers(0, 24), st.integers(0, 3), LINES.map(lambda lines: lines[:3])),
    min_size=1,
    max_size=3,
)


def edited(lines: list[str], edits: list[tuple[int, int, list[str]]]) -> list[str]:
    lines = list(lines)
    for at, count, new in edits:
        lines[at : at + count] = new
    return lines


def joined(lines: list[str], ends: bool, crlf: bool) -> str:
    text = "".join(line + ("\r\n" if crlf else "\n") for line in lines)
    return text if ends or not lines else text.rstrip("\r\n")


def applied(text: str, patch: str, path: str = "file.txt") -> str | None:
    """The text with the patch; None if it does not apply."""
    tried = try_patch(path, text, patch)
    return tried.text if isinstance(tried, AppliedPatch) else None


def git_apply(folder: Path, path: str, text: str, patch: str) -> str | None:
    """What git makes of it; None where it refuses."""
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(text.encode())
    done = subprocess.run(
        ["git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", "-"],
        cwd=folder,
        input=patch.encode(),
        capture_output=True,
        check=False,
        env={"GIT_CEILING_DIRECTORIES": str(folder.parent), "PATH": "/usr/local/bin:/usr/bin:/bin"},
    )
    return target.read_bytes().decode() if done.returncode == 0 else None


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LINES, EDITS, st.booleans(), st.booleans(), st.booleans())
def test_a_written_patch_applies_here_and_in_git(tmp_path, lines, edits, ends, ends_after, crlf):
    before = joined(lines, ends, crlf)
    after = joined(edited(lines, edits), ends_after, crlf)
    if not before or not after or before == after:
        return  # a file made or emptied is git's to name, not a suggestion's
    patch = write_patch("file.txt", before, after)
    assert applied(before, patch) == after
    assert git_apply(tmp_path, "file.txt", before, patch) == after


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LINES, EDITS, LINES.map(lambda lines: lines[:6]))
def test_where_lines_were_added_above_we_agree_with_git(tmp_path, lines, edits, above):
    before, after = joined(lines, True, False), joined(edited(lines, edits), True, False)
    shifted = joined(above, True, False) + before
    if not before or not after or before == after:
        return
    patch = write_patch("file.txt", before, after)
    taken = git_apply(tmp_path, "file.txt", shifted, patch)
    if taken is not None:
        assert applied(shifted, patch) == taken


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LINES, EDITS, LINES.map(lambda lines: lines[:6]))
def test_what_is_kept_is_what_git_takes_with_the_same_result(tmp_path, lines, edits, above):
    before, after = joined(lines, True, False), joined(edited(lines, edits), True, False)
    shifted = joined(above, True, False) + before
    if not before or before == after:
        return
    kept = try_patch("file.txt", shifted, write_patch("file.txt", before, after))
    if isinstance(kept, AppliedPatch) and kept.text:
        assert git_apply(tmp_path, "file.txt", shifted, kept.patch) == kept.text


@pytest.mark.parametrize("path", ["with space.py", "ünï/cödé.py", 'quo"te.py', "brace{x}.py"])
def test_names_are_written_as_git_reads_them(tmp_path, path):
    patch = write_patch(path, TEXT, TEXT.replace("four", "FOUR"))
    assert git_apply(tmp_path, path, TEXT, patch) == TEXT.replace("four", "FOUR")
    assert isinstance(try_patch(path, TEXT, patch), AppliedPatch)


def test_wrong_counts_missing_names_and_a_fence_are_forgiven(tmp_path):
    patch = "```diff\n@@ -1,9 +1,2 @@\n two\n-three\n+THREE\n four\n```"
    kept = try_patch("a.py", TEXT, patch)
    assert isinstance(kept, AppliedPatch)
    assert kept.text == TEXT.replace("three", "THREE")
    assert git_apply(tmp_path, "a.py", TEXT, kept.patch) == kept.text


def test_a_patch_without_context_is_kept_with_context(tmp_path):
    kept = try_patch("a.py", TEXT, "--- a/a.py\n+++ b/a.py\n@@ -4 +4 @@\n-four\n+FOUR\n")
    assert isinstance(kept, AppliedPatch)
    assert " three\n-four\n+FOUR\n five\n" in kept.patch
    assert git_apply(tmp_path, "a.py", TEXT, kept.patch) == kept.text


def test_line_breaks_of_the_file_are_kept():
    crlf = TEXT.replace("\n", "\r\n")
    patch = write_patch("a.py", TEXT, TEXT.replace("four", "FOUR"))
    assert applied(crlf, patch, "a.py") == crlf.replace("four", "FOUR")
    assert applied("a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n") == "a\nc"
    assert applied("a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n") == "a\nc\n"


@pytest.mark.parametrize(
    ("patch", "trouble"),
    [
        ("nothing of the kind", "unreadable"),
        ("", "unreadable"),
        ("--- a/../a.py\n+++ b/../a.py\n@@ -1 +1 @@\n-one\n+1\n", "other_file"),
        ("--- /a.py\n+++ /a.py\n@@ -1 +1 @@\n-one\n+1\n", "other_file"),
        ("--- a/b.py\n+++ b/b.py\n@@ -1 +1 @@\n-one\n+1\n", "other_file"),
        ("--- a/a.py\n+++ b/b.py\n@@ -1 +1 @@\n-one\n+1\n", "other_file"),
        ("--- a/a.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n", "unreadable"),
        ("--- /dev/null\n+++ b/a.py\n@@ -0,0 +1 @@\n+one\n", "unreadable"),
        ("--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-uno\n+1\n", "does_not_apply"),
        ("--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n one\n two\n", "no_change"),
        (
            "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-one\n+1\n--- a/b.py\n+++ b/b.py\n@@ -1 +1 @@\n-x\n+y\n",
            "several_files",
        ),
    ],
    ids=[
        "prose",
        "empty",
        "climbs",
        "absolute",
        "other",
        "renames",
        "deletes",
        "makes",
        "misfit",
        "same",
        "two",
    ],
)
def test_what_is_wrong_with_a_patch_is_said(patch, trouble):
    assert try_patch("a.py", TEXT, patch) == trouble


def test_without_the_text_nothing_is_kept():
    assert try_patch("a.py", None, write_patch("a.py", TEXT, TEXT + "nine\n")) == "no_text"
