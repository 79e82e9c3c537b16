"""Changes from git: the working tree, staged changes, a commit, two revisions compared, or a diff in a file.

Rule: the same change gives the same diff on every machine. A user's settings for diffs (context, prefixes, order,
algorithm, colours) are ignored, because the ids of units follow from the lines.
"""

import os
import stat
from functools import partial
from pathlib import Path

from holdfast.errors import InputError, NotFound
from holdfast.review.diff import Diff, DiffLine, FileChange, Hunk, Versions
from holdfast.review.diff_parser import diff_line, parse_diff
from holdfast.review.repository import Repository, locate_repository, open_repository
from holdfast.review.versions import (
    GitVersions,
    TextVersions,
    decode_text,
    disk_texts,
    git_texts,
    is_binary,
    read_inside,
)

MOST_DIFF = 64 * 1024 * 1024
MOST_BYTES = 1024 * 1024
"""Of an untracked file. Larger ones are more often data than code, and nobody reads them line by line."""
MOST_COMMITS = 100
MOST_MESSAGE = 20_000
"""Characters of a commit message."""

_OPTIONS = (
    *("--no-ext-diff", "--no-textconv", "--no-color", "--no-relative", "-O/dev/null", "--full-index"),
    *("-M", "-l1000"),
    *("--submodule=short", "--ignore-submodules=dirty", "--src-prefix=a/", "--dst-prefix=b/", "--unified=3"),
    *("--inter-hunk-context=0", "--diff-algorithm=myers", "--indent-heuristic"),
)


def read_diff(root: Path, spec: str) -> tuple[Diff, Versions]:
    """`spec` is `working` (tracked files against the last commit, and untracked files), `staged`, `A...B`,
    `A..B`, a commit (against its first parent), or a file that contains a diff. A spec that begins with `.` or
    `/`, or ends in `.diff` or `.patch`, is a file if that exists; otherwise a revision takes precedence over a
    file."""
    if _looks_like_file(spec) and _path(root, spec).is_file():
        return _read_file(root, spec)
    if spec in ("working", "staged"):
        return _uncommitted(open_repository(root), spec)
    if ".." in spec:
        try:
            return _between(open_repository(root), spec)
        except NotFound as error:
            error.hint = "`git branch -a` and `git tag` list names for both sides of the dots"
            raise
    try:
        repository = open_repository(root)
        commit = repository.commit(spec)
    except (InputError, NotFound) as error:
        if _path(root, spec).is_file():
            return _read_file(root, spec)
        if _looks_like_file(spec):
            raise NotFound(
                f"there is no file `{spec}`", hint="check the path; `--diff -` reads a diff from stdin"
            ) from None
        if isinstance(error, NotFound):
            error.hint = "use `working`, `staged`, `A...B`, `A..B`, a commit, or a file that contains a diff"
        raise
    return _compared(repository, spec, _parent(repository, commit), commit)


def pin_revisions(root: Path, spec: str) -> str:
    """The same spec with revisions replaced by the commits they name now, so that it keeps its meaning."""
    if spec in ("working", "staged") or (_looks_like_file(spec) and _path(root, spec).is_file()):
        return spec
    dots = "..." if "..." in spec else ".."
    left, between, right = spec.partition(dots)
    try:
        repository = open_repository(root)
        return repository.commit(left) + (dots + repository.commit(right) if between else "")
    except (InputError, NotFound):
        return spec


def read_messages(root: Path, spec: str) -> tuple[str, ...]:
    """The messages of the commits of a change, the oldest first; none if it is not made of commits. Merges of a
    range are left out. Read from the commits themselves: `git log` runs programs that a repository names."""
    if spec in ("working", "staged") or (_looks_like_file(spec) and _path(root, spec).is_file()):
        return ()
    try:
        repository = open_repository(root)
        if ".." in spec:
            left, _, right = spec.partition("..." if "..." in spec else "..")
            ends = (repository.commit(right), "^" + repository.commit(left))
            listed = repository.run("rev-list", "--no-merges", f"--max-count={MOST_COMMITS}", *ends)
            commits = listed.decode("ascii").split()[::-1]
        else:
            commits = [repository.commit(spec)]
        return tuple(_message(repository, commit) for commit in commits)
    except (InputError, NotFound):
        return ()  # a file, or what `read_diff` has an error for


def _message(repository: Repository, commit: str) -> str:
    text = decode_text(repository.run("cat-file", "commit", commit).partition(b"\n\n")[2]).strip()
    return text[:MOST_MESSAGE]


def read_diff_text(text: str, title: str, root: Path | None) -> tuple[Diff, Versions]:
    """A diff given as text. If it matches the files below `root`, both versions can be read."""
    files = parse_diff(text)
    return Diff(title, files), TextVersions(root, files)


def _looks_like_file(spec: str) -> bool:
    return spec.startswith((".", "/")) or spec.endswith((".diff", ".patch"))


def _path(root: Path, spec: str) -> Path:
    return Path(os.path.normpath(root / spec))


def _read_file(root: Path, spec: str) -> tuple[Diff, Versions]:
    path = _path(root, spec)
    try:
        if path.stat().st_size > MOST_DIFF:
            raise InputError(f"`{spec}` is larger than {MOST_DIFF // 2**20} MiB")
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(f"`{spec}` cannot be read: {error.strerror}") from None
    try:
        return read_diff_text(decode_text(raw), spec, review_root(root))
    except InputError as error:
        raise InputError(f"`{spec}`: {error.message}", hint=error.hint) from None


def review_root(root: Path) -> Path:
    """The folder that paths of a diff are relative to: the top of the repository, else the folder itself."""
    try:
        return locate_repository(root).top or root.resolve()
    except InputError:
        return root.resolve()


def _uncommitted(repository: Repository, spec: str) -> tuple[Diff, Versions]:
    """`working` or `staged`, against the last commit, or an empty tree if there is none yet."""
    output = repository.try_run("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    last = repository.empty_tree() if output.code else output.out.decode("ascii").strip()
    before = partial(git_texts, repository, last)
    if spec == "staged":
        files = _diff(repository, "--cached", last)
        return Diff(spec, files), GitVersions(before, partial(git_texts, repository, ""), files)
    after = partial(disk_texts, repository.working_tree)
    files = (*_diff(repository, last), *_untracked_files(repository))
    return Diff(spec, files), GitVersions(before, after, files)


def _between(repository: Repository, spec: str) -> tuple[Diff, Versions]:
    from_base = "..." in spec
    left, _, right = spec.partition("..." if from_base else "..")
    old, new = repository.commit(left), repository.commit(right)
    if from_base:
        output = repository.try_run("merge-base", old, new)
        if output.code or not output.out:
            raise InputError(
                f"`{left or 'HEAD'}` and `{right or 'HEAD'}` have no common commit", hint="use `A..B`"
            )
        old = output.out.decode("ascii").split()[0]
    return _compared(repository, spec, old, new)


def _compared(repository: Repository, title: str, old: str, new: str) -> tuple[Diff, Versions]:
    files = _diff(repository, old, new)
    before, after = (partial(git_texts, repository, commit) for commit in (old, new))
    return Diff(title, files), GitVersions(before, after, files)


def _diff(repository: Repository, *what: str) -> tuple[FileChange, ...]:
    return parse_diff(decode_text(repository.run("diff", *_OPTIONS, *what, "--", most=MOST_DIFF)))


def _parent(repository: Repository, commit: str) -> str:
    """Read from the commit itself, because git hides parents that a shallow clone lacks."""
    head, _, _ = repository.run("cat-file", "commit", commit).partition(b"\n\n")
    parents = [line[7:].decode("ascii") for line in head.split(b"\n") if line.startswith(b"parent ")]
    if not parents:
        return repository.empty_tree()
    if repository.try_run("cat-file", "-e", parents[0]).code:
        raise InputError(
            f"the commit before `{commit[:12]}` is not in this clone", hint="`git fetch --deepen=1` gets it"
        )
    return parents[0]


def _untracked_files(repository: Repository) -> tuple[FileChange, ...]:
    """Files that git does not track yet, as added files, in the order of their names. None is left out: a file that
    is not read (large, binary, no permission, a repository of its own) has no lines."""
    out = repository.run("ls-files", "--others", "--exclude-standard", "-z")
    names = sorted(decode_text(name) for name in out.split(b"\0") if name)
    return tuple(_added_file(repository.working_tree, name) for name in names)


def _added_file(top: Path, name: str) -> FileChange:
    is_submodule = name.endswith("/")
    name = name.removesuffix("/")
    added = partial(FileChange, path=name, old_path=name, change="added")
    if is_submodule:
        return added(new_mode="160000", is_submodule=True)
    try:
        status = (top / name).lstat()
    except OSError as error:
        return added(note=f"cannot be read ({error.strerror})")
    mode = "100755" if status.st_mode & stat.S_IXUSR else "100644"
    mode = "120000" if stat.S_ISLNK(status.st_mode) else mode
    if status.st_size > MOST_BYTES:
        return added(new_mode=mode, note=f"too large to read ({status.st_size // 1024} KiB)")
    raw = read_inside(top, name, MOST_BYTES)
    if raw is None:
        return added(new_mode=mode, note="cannot be read")
    if is_binary(raw):
        return added(new_mode=mode, is_binary=True)
    return added(new_mode=mode, hunks=(added_hunk(decode_text(raw)),) if raw else ())


def added_hunk(text: str) -> Hunk:
    """A whole text as added lines, as git shows it."""
    texts = text.split("\n")
    last = texts.pop()
    lines = [diff_line("+", 0, i, line) for i, line in enumerate(texts, start=1)]
    if last:
        lines.append(DiffLine("+", 0, len(lines) + 1, last, ""))
    return Hunk(0, 0, 1, len(lines), "", tuple(lines))
