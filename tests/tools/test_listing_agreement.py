"""ripgrep and our own program find the same, on trees, rules and texts made up at random."""

import contextlib
import io
import json
import subprocess
import tempfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.tools.search import fallback
from holdfast.tools.search.path_patterns import name_glob
from holdfast.tools.search.ripgrep import (
    FileWalk,
    LineRequest,
    RipgrepProgram,
    SearchPattern,
    find_ripgrep,
    read_binaries,
    read_counts,
    read_paths,
    read_positions,
)
from holdfast.tools.search.search_folder import filter_paths

NAMES = ["a", "b", "ab", "a.py", "b.log", "ä.txt", ".h", "build", "A", "x y", "#c", "!d"]
FOLDERS = ["a", "b", "build", ".h", "ab"]
RULES = [
    "a", "/a", "a/", "b/a", "/b/a", "*.py", "!*.py", "!a.py", "*", "!*/", "**/a", "a/**", "!a/**", "b/**/a", "/*",
    "!/b", "a*", "?", "[ab]", "[!a]", "[a-b].py", "build/", "!build/", "\\#c", "\\!d", "# a", "", "  ", "a.py  ",
    "x\\ y", "x y", "{a,b}", "*.{py,log}", "ä.txt", "**", "/**", "**/b/", "b/*", "a**b", "***", "[", "a]", "/b/",
    "!/b/a", "//a", "a//b", ".h", "!.h", "[]a]", "[^b]", "\\a", "a\\", "b/**", "**/**/a",
]  # fmt: skip

paths = st.builds(
    lambda folders, name: "/".join([*folders, name]),
    st.lists(st.sampled_from(FOLDERS), max_size=3),
    st.sampled_from(NAMES),
)
rules = st.lists(st.sampled_from(RULES), min_size=1, max_size=5)
places = st.lists(st.sampled_from(FOLDERS), max_size=2).map("/".join)


@pytest.fixture(scope="module")
def ripgrep():
    found = find_ripgrep()
    assert isinstance(found, RipgrepProgram)
    return found


def build(root, files, ignoring, tops=(), exclude=()):
    for name in files:
        path = root / name
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(files[name])
    for folder in tops:
        with contextlib.suppress(OSError):
            (root / folder / ".git" / "info").mkdir(parents=True)
            (root / folder / ".git" / "info" / "exclude").write_text("\n".join(exclude))
    for folder, lines in ignoring.items():
        with contextlib.suppress(OSError):
            (root / folder).mkdir(parents=True, exist_ok=True)
            (root / folder / ".gitignore").write_text("\n".join(lines) + "\n")


def theirs(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, env={}, check=False)
    return done.stdout, done.stderr


def ours(what, folder, **asked):
    out, err = io.TextIOWrapper(io.BytesIO()), io.TextIOWrapper(io.BytesIO())
    raw = json.dumps({key: msgspec.to_builtins(value) for key, value in asked.items()})
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        fallback.main([what, raw])
        out.flush()
        err.flush()
    return out.buffer.getvalue(), err.buffer.getvalue()


@settings(max_examples=120, deadline=None)
@given(
    st.lists(paths, min_size=1, max_size=12),
    st.dictionaries(places, rules, max_size=3),
    st.lists(places, max_size=2),
    rules,
    places,
    st.booleans(),
)
@example(["a/b/a.py", "a/a.py"], {"": ["*.py", "!a.py"], "a/b": ["a.py"]}, [""], ["b.log"], "a", False)
def test_the_same_files_are_listed(ripgrep, files, ignoring, tops, exclude, start, everything):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        build(root, dict.fromkeys(files, b""), ignoring, tops, exclude)
        here = root / start if (root / start).is_dir() else root
        walking = FileWalk(include_ignored=everything)
        listed = read_paths(theirs(ripgrep.files(walking), here)[0])
        assert sorted(read_paths(ours("files", here, walking=walking)[0])) == sorted(listed)


LINES = ["foo", "bar foo", "Foo", "", "x\r", "äfoo", "日本 foo foo", "f.o", "(foo", "\tfoo"]
PATTERNS = [
    "foo",
    "^foo",
    "foo$",
    "f.o",
    "(?i)foo",
    "o{2}",
    "[äf]oo",
    "\\bfoo\\b",
    "foo|bar",
    "^$",
    "\\s",
    "x",
    "本",
    "\\w+",
]
texts = st.lists(st.sampled_from(LINES), max_size=8).map("\n".join)
contents = st.one_of(
    texts.map(str.encode),
    texts.map(lambda t: f"{t}\n".encode()),
    texts.map(lambda t: t.encode("utf-8-sig")),
    texts.map(lambda t: t.encode("utf-16")),
    texts.map(lambda t: t.encode() + b"\0foo\n"),
)


@settings(max_examples=80, deadline=None)
@given(
    st.dictionaries(paths, contents, min_size=1, max_size=6),
    st.sampled_from(PATTERNS),
    st.booleans(),
    st.booleans(),
    st.integers(1, 3),
    st.integers(0, 2),
)
def test_the_same_lines_are_found(ripgrep, files, pattern, literal, ignore_case, most, context):
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder), files, {})
        matching, walking = SearchPattern(pattern, literal, ignore_case), FileWalk()
        out, errors = theirs(ripgrep.counts(matching, walking), folder)
        counts = read_counts(out)
        own_out, own_errors = ours("counts", folder, matching=matching, walking=walking)
        assert read_counts(own_out) == counts
        assert sorted(read_binaries(own_errors)) == sorted(read_binaries(errors))
        if counts:
            picking = LineRequest(tuple(counts), most, context)
            out, _ = theirs(ripgrep.positions(matching, picking), folder)
            own, _ = ours("positions", folder, matching=matching, picking=picking)
            assert matches(own) == matches(out)
            assert around(own) == around(out)


def matches(output):
    return sorted((p.path, p.line, p.column, p.offset) for p in read_positions(output) if p.column)


def around(output):
    return sorted((p.path, p.line, p.offset) for p in read_positions(output) if not p.column)


GLOBS = [
    "*.py", "**/*.py", "a/*", "a/**", "**/a", "*", "**", "{a,b}/*", "*.{py,log}", "a/**/a.py", "?.py", "ä*",
    "[ab]*", "/a", "/*", "b/a", "**/b/**", "x y", "a*/*", "./a.py", "build/**/*", "{a,b}.py", "a.p[xy]",
]  # fmt: skip


@settings(max_examples=80, deadline=None)
@given(st.lists(paths, min_size=1, max_size=12), st.sampled_from(GLOBS))
def test_a_glob_selects_what_ripgreps_own_does(ripgrep, files, glob):
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder), dict.fromkeys(files, b""), {})
        walking = FileWalk(names=name_glob(glob))
        own = filter_paths(read_paths(theirs(ripgrep.files(walking), folder)[0]), glob)
        command = [*ripgrep.files(FileWalk()), f"--glob={glob.removeprefix('./')}"]
        command.remove("--")
        assert sorted(own) == sorted(read_paths(theirs(command, folder)[0]))
