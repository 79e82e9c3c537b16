"""Real git repositories for tests of the reviewer."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

WHO = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


class Repo:
    """A folder with a repository, its files and its commits."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main", ".")

    def git(self, *words: str, check: bool = True) -> str:
        done = subprocess.run(
            ["git", "-c", "commit.gpgsign=false", "-c", "protocol.file.allow=always", *words],
            cwd=self.folder,
            env={**{k: v for k, v in os.environ.items() if not k.startswith("GIT_")}, **WHO},
            capture_output=True,
            check=False,
        )
        assert not check or done.returncode == 0, done.stderr.decode("utf-8", "replace")
        return done.stdout.decode("utf-8", "replace").strip()

    def write(self, name: str, content: str | bytes) -> Path:
        place = self.folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        return place

    def commit(self, files: Mapping[str, str] | None = None) -> str:
        """All that changed, and these files, as one commit."""
        for name, content in (files or {}).items():
            self.write(name, content)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "a commit")
        return self.git("rev-parse", "HEAD")
