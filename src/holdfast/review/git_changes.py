"""Files that git does not track yet, as added files of a diff.

Rule: none is left out; what is not read (large, a picture, no permission, a repository of its own) is there
without lines.
"""

import os
import stat
from pathlib import Path

from holdfast.errors import InputError, NotFound
from holdfast.review.diff import Diff, FileChange, Hunk, Versions
from holdfast.review.diff_parser import diff_line, parse_diff
from holdfast.review.repository import Repository, open_repository
from holdfast.review.versions import (
    DiskTexts,
    GitTexts,
    GitVersions,
    TextSource,
    TextVersions,
    decode_text,
    is_binary,
    read_inside,
)

MOST_BYTES = 1024 * 1024
"""Of one file. Larger ones are data more often than code, and nobody reads them line by line."""


def untracked_files(repository: Repository) -> tuple[FileChange, ...]:
    """In the order of their names."""
    out = repository.ask("ls-files", "--others", "--exclude-standard", "-z")
    names = sorted(decode_text(name) for name in out.split(b"\0") if name)
    return tuple(added_file(repository.working_tree, name) for name in names)


def added_file(top: Path, name: str) -> FileChange:
    if name.endswith("/"):
        name = name.removesuffix("/")
        return FileChange(path=name, old_path=name, change="added", new_mode="160000", is_submodule=True)
    try:
        status = (top / name).lstat()
    except OSError as error:
        return _without_lines(name, "", f"cannot be read ({error.strerror})")
    mode = _mode(status.st_mode)
    if status.st_size > MOST_BYTES:
        return _without_lines(name, mode, f"too large to be read ({status.st_size // 1024} KiB)")
    raw = read_inside(top, name, MOST_BYTES)
    if raw is None:
        return _without_lines(name, mode, "cannot be read")
    if is_binary(raw):
        return FileChange(path=name, old_path=name, change="added", new_mode=mode, is_binary=True)
    hunks = (added_hunk(decode_text(raw)),) if raw else ()
    return FileChange(path=name, old_path=name, change="added", new_mode=mode, hunks=hunks)


def added_hunk(text: str) -> Hunk:
    """A whole text as added lines, as git would show it."""
    rows = text.split("\n")
    is_ended = rows[-1] == ""
    if is_ended:
        rows.pop()
    lines = [diff_line("+", 0, i, row) for i, row in enumerate(rows, start=1)]
    if not is_ended:
        lines[-1] = diff_line("+", 0, len(rows), rows[-1], is_last=True)
    return Hunk(0, 0, 1, len(lines), "", tuple(lines))


def _without_lines(name: str, mode: str, note: str) -> FileChange:
    return FileChange(path=name, old_path=name, change="added", new_mode=mode, note=note)


def _mode(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "120000"
    return "100755" if mode & os.X_OK << 6 else "100644"


# Diffs out of git: of the working tree, of what is staged, of a commit, between two, or out of a file.
#
# Rule: the same change gives the same diff on every machine. A person's settings for how diffs look (context,
# prefixes, order, algorithm, colours) are not heard, because ids of units follow from the lines.

MOST_DIFF = 64 * 1024 * 1024

_OPTIONS = (
    *("--no-ext-diff", "--no-textconv", "--no-color", "--no-relative", "-O/dev/null", "--full-index"),
    *("-M", "-l1000"),
    *("--submodule=short", "--ignore-submodules=dirty", "--src-prefix=a/", "--dst-prefix=b/", "--unified=3"),
    *("--inter-hunk-context=0", "--diff-algorithm=myers", "--indent-heuristic"),
)


def read_diff(root: Path, spec: str) -> tuple[Diff, Versions]:
    """`working` (tracked files against the last commit, and files that are not tracked), `staged`, `A...B`,
    `A..B`, a commit (against its first parent), or a file that holds a diff. What begins with `.` or `/`, or ends
    in `.diff` or `.patch`, is a file if there is one; a revision comes before any other file."""
    if _names_a_file(root, spec):
        return _out_of_file(root, spec)
    if spec in ("working", "staged"):
        repository = open_repository(root)
        return _working(repository) if spec == "working" else _staged(repository)
    if ".." in spec:
        return _between(open_repository(root), spec)
    try:
        repository = open_repository(root)
        commit = repository.commit(spec)
    except (InputError, NotFound) as error:
        if _place(root, spec).is_file():
            return _out_of_file(root, spec)
        if isinstance(error, NotFound):
            error.hint = "`working`, `staged`, `A...B`, `A..B`, a commit, or a file that holds a diff"
        raise
    return _compared(repository, spec, _parent(repository, commit), commit)


def pin_revisions(root: Path, spec: str) -> str:
    """The same change, named so that it stays this one: revisions as the commits that they are now."""
    if spec in ("working", "staged") or _names_a_file(root, spec):
        return spec
    dots = "..." if "..." in spec else ".."
    left, between, right = spec.partition(dots)
    try:
        repository = open_repository(root)
        return repository.commit(left) + (dots + repository.commit(right) if between else "")
    except (InputError, NotFound):
        return spec


def read_diff_text(text: str, title: str, root: Path | None) -> tuple[Diff, Versions]:
    """A diff that came as a text. Where it fits the files below `root`, both versions can be had."""
    files = parse_diff(text)
    return Diff(title, files), TextVersions(root, files)


def _names_a_file(root: Path, spec: str) -> bool:
    return (spec.startswith((".", "/")) or spec.endswith((".diff", ".patch"))) and _place(
        root, spec
    ).is_file()


def _place(root: Path, spec: str) -> Path:
    return Path(os.path.normpath(root / spec))


def _out_of_file(root: Path, spec: str) -> tuple[Diff, Versions]:
    place = _place(root, spec)
    try:
        if place.stat().st_size > MOST_DIFF:
            raise InputError(f"`{spec}` is larger than {MOST_DIFF // 2**20} MiB.")
        raw = place.read_bytes()
    except OSError as error:
        raise InputError(f"`{spec}` cannot be read: {error.strerror}") from None
    try:
        return read_diff_text(decode_text(raw), spec, _top(root))
    except InputError as error:
        raise InputError(f"`{spec}`: {error.message}", hint=error.hint) from None


def _top(root: Path) -> Path:
    try:
        return open_repository(root).top or root
    except InputError:
        return root


def _working(repository: Repository) -> tuple[Diff, Versions]:
    top = repository.working_tree
    last = _last_tree(repository)
    files = (*_diff(repository, last), *untracked_files(repository))
    return _read("working", files, GitTexts(repository, last), DiskTexts(top))


def _staged(repository: Repository) -> tuple[Diff, Versions]:
    last = _last_tree(repository)
    files = _diff(repository, "--cached", last)
    return _read("staged", files, GitTexts(repository, last), GitTexts(repository, ""))


def _between(repository: Repository, spec: str) -> tuple[Diff, Versions]:
    from_base = "..." in spec
    left, _, right = spec.partition("..." if from_base else "..")
    old, new = repository.commit(left), repository.commit(right)
    if from_base:
        answer = repository.try_asking("merge-base", old, new)
        if answer.code or not answer.out:
            raise InputError(
                f"`{left or 'HEAD'}` and `{right or 'HEAD'}` have no common commit.", hint="use `A..B`"
            )
        old = answer.out.decode("ascii").split()[0]
    return _compared(repository, spec, old, new)


def _compared(repository: Repository, title: str, old: str, new: str) -> tuple[Diff, Versions]:
    return _read(title, _diff(repository, old, new), GitTexts(repository, old), GitTexts(repository, new))


def _read(
    title: str, files: tuple[FileChange, ...], old: TextSource, new: TextSource
) -> tuple[Diff, Versions]:
    return Diff(title, files), GitVersions(old, new, files)


def _diff(repository: Repository, *what: str) -> tuple[FileChange, ...]:
    return parse_diff(decode_text(repository.ask("diff", *_OPTIONS, *what, "--", most=MOST_DIFF)))


def _last_tree(repository: Repository) -> str:
    """The last commit, or a tree without files where there is none yet."""
    answer = repository.try_asking("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    return repository.empty_tree() if answer.code else answer.out.decode("ascii").strip()


def _parent(repository: Repository, commit: str) -> str:
    """The commit itself is asked, because git hides parents that a shallow clone lacks."""
    head, _, _ = repository.ask("cat-file", "commit", commit).partition(b"\n\n")
    parents = [line[7:].decode("ascii") for line in head.split(b"\n") if line.startswith(b"parent ")]
    if not parents:
        return repository.empty_tree()
    if repository.try_asking("cat-file", "-e", parents[0]).code:
        raise InputError(
            f"The commit before `{commit[:12]}` is not in this clone.", hint="`git fetch --deepen=1` gets it"
        )
    return parents[0]
