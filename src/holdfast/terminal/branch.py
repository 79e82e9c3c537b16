"""The branch that is checked out, read from git's own file.

Rule: no process is started for it, and a folder that is no repository has none.
"""

from pathlib import Path


def branch_of(root: str | Path) -> str:
    """The branch of the repository that a folder lies in; the beginning of the commit where no branch is."""
    for folder in (Path(root), *Path(root).parents):
        head = _head(folder / ".git")
        if head:
            name = head.removeprefix("ref: refs/heads/")
            return name if name != head else head[:8]
    return ""


def _head(git: Path) -> str:
    try:
        if git.is_file():  # a worktree or a submodule names the real folder
            named = git.read_text("utf-8", "replace").removeprefix("gitdir:").strip()
            git = git.parent / named
        return (git / "HEAD").read_text("utf-8", "replace").strip()
    except OSError:
        return ""
