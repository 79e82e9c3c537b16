"""What we make of globs, `.gitignore` files and ripgrep's output agrees with ripgrep itself, on random trees."""

import codecs
import contextlib
import os
import re
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.tools.search.path_patterns import IgnoreScope, ignore_scope, name_glob
from holdfast.tools.search.ripgrep import (
    FileWalk,
    SearchPattern,
    find_ripgrep,
    read_binaries,
    read_counts,
    read_paths,
    read_positions,
)
from holdfast.tools.search.search_folder import filter_paths
from holdfast.tools.workspace_files import VERSION_CONTROL

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
    return find_ripgrep()


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


def walked(folder, everything):
    """The files below a folder that the rules do not ignore, as LS enters folders."""
    found = []
    stack = [("", IgnoreScope() if everything else ignore_scope(str(folder)))]
    while stack:
        inner, scope = stack.pop()
        for item in os.scandir(folder / inner):
            path = f"{inner}{item.name}"
            is_directory = item.is_dir(follow_symlinks=False)
            if item.name in VERSION_CONTROL or scope.ignores(str(folder / path), is_directory):
                continue
            if is_directory:
                stack.append((f"{path}/", scope if everything else scope.entered(str(folder / path))))
            else:
                found.append(path)
    return found


@pytest.mark.slow
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
        listed = read_paths(theirs(ripgrep.files(FileWalk(include_ignored=everything)), here)[0])
        assert sorted(walked(here, everything)) == sorted(listed)


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


@pytest.mark.slow
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
    expression = re.compile(re.escape(pattern) if literal else pattern, re.IGNORECASE if ignore_case else 0)
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder), files, {})
        searched = SearchPattern(pattern, literal, ignore_case)
        out, errors = theirs(ripgrep.counts(searched, FileWalk()), folder)
        texts = {
            str(path.relative_to(folder)): searched_bytes(path.read_bytes())
            for path in Path(folder).rglob("*")
            if path.is_file()
        }
        binaries = [name for name, text in texts.items() if b"\0" in text]
        found = {name: positions(text, expression) for name, text in texts.items() if name not in binaries}
        counts = read_counts(out)
        assert counts == {name: len(lines) for name, lines in found.items() if lines}
        assert sorted(read_binaries(errors)) == sorted(binaries)
        if counts:
            out, _ = theirs(ripgrep.positions(searched, counts, most, context), folder)
            assert sorted((p.path, p.line, p.column, p.offset) for p in read_positions(out)) == sorted(
                (name, *line) for name in counts for line in shown(texts[name], found[name], most, context)
            )


def searched_bytes(raw):
    """A file as ripgrep searches it: without a byte order mark, UTF-16 as UTF-8."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return raw.decode("utf-16").encode()
    return raw.removeprefix(codecs.BOM_UTF8)


def lines_of(text):
    lines = text.split(b"\n")
    return lines if lines[-1] else lines[:-1]


def positions(text, expression):
    """Line and column of each line that matches, counted from 1."""
    found = {}
    for number, line in enumerate(lines_of(text), start=1):
        if match := expression.search(line.decode()):
            found[number] = len(line.decode()[: match.start()].encode()) + 1
    return found


def shown(text, found, most, context):
    """The first matches with the lines around them; a match among those is shown as one."""
    first = list(found)[:most]
    near = {number + step for number in first for step in range(-context, context + 1)}
    offset = 0
    for number, line in enumerate(lines_of(text), start=1):
        if number in near:
            yield number, found.get(number, 0), offset
        offset += len(line) + 1


GLOBS = [
    "*.py", "**/*.py", "a/*", "a/**", "**/a", "*", "**", "{a,b}/*", "*.{py,log}", "a/**/a.py", "?.py", "ä*",
    "[ab]*", "/a", "/*", "b/a", "**/b/**", "x y", "a*/*", "./a.py", "build/**/*", "{a,b}.py", "a.p[xy]",
]  # fmt: skip


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(st.lists(paths, min_size=1, max_size=12), st.sampled_from(GLOBS))
def test_a_glob_selects_what_ripgreps_own_does(ripgrep, files, glob):
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder), dict.fromkeys(files, b""), {})
        walk = FileWalk(names=name_glob(glob))
        own = filter_paths(read_paths(theirs(ripgrep.files(walk), folder)[0]), glob)
        command = [*ripgrep.files(FileWalk()), f"--glob={glob.removeprefix('./')}"]
        command.remove("--")
        assert sorted(own) == sorted(read_paths(theirs(command, folder)[0]))
