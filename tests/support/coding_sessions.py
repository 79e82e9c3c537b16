"""Coding sessions for tests: the real agent in a real repository under a scripted model, spoken to line by line."""

import asyncio
import subprocess
from pathlib import Path

from holdfast.agents.build import AgentConfig
from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.commands import CommandAnswer, run_command
from holdfast.agents.outcomes import End
from holdfast.agents.sessions import SOURCE
from holdfast.errors import NotFound
from holdfast.log import Log
from holdfast.messages import ToolCall
from holdfast.models.scripted import ScriptedModel
from holdfast.packing.profile import BUILT_IN
from holdfast.store import SqliteStore
from holdfast.tools.permissions.tool_rules import Permissions


def repository_in(folder: Path, *, commits: bool = False) -> Path:
    """A small repository without project rules."""
    root = folder / "repo"
    root.mkdir(parents=True)
    (root / "main.py").write_text("def main():\n    print('old')\n")
    (root / "notes.md").write_text("# Notes\n\nNothing yet.\n")
    git(root, "init", "-q")
    if commits:
        git(root, "add", ".")
        git(root, "-c", "user.name=n", "-c", "user.email=e@x", "commit", "-qm", "begin")
    return root


def git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", root, *arguments], check=True, capture_output=True)


class CodingSetup:
    """A folder with a repository and a store; sessions are opened in it again and again, and closed at the end."""

    def __init__(self, folder: Path, **more) -> None:
        self.folder = folder
        self.root = repository_in(folder, **more)
        self.store = SqliteStore(folder / "store.db")
        self.sessions: list[CodingSession] = []
        self.runner = asyncio.Runner()
        """One event loop for all: an agent belongs to the loop that it first ran in."""

    def open(
        self, *replies, log: str = "session", window: int = 32_000, root: Path | None = None, **more
    ) -> CodingSession:
        """A coding session on the log of this name, created if it does not exist."""
        root = (root or self.root).resolve()
        try:
            self.store.info(log)
        except NotFound:
            Log.create(self.store, id=log, source=SOURCE, meta={"root": str(root)})
        config = {
            "root": root,
            "store": self.store,
            "log": log,
            "model": ScriptedModel(*(replies or ("Nothing to say.",))),
            "profile": BUILT_IN["code"].scaled_to(window),
            "snapshots": self.folder / "snapshots",
            "permissions": Permissions(),
            "mode": "auto",
            "compacts_in_background": False,
        }
        coding = CodingSession(AgentConfig(**(config | more)))
        coding.runner = self.runner
        self.sessions.append(coding)
        return coding

    def close(self) -> None:
        with self.runner as runner:
            for coding in self.sessions:
                runner.run(coding.aclose())
        self.store.close()


def requests(coding: CodingSession) -> list:
    """What the scripted model was asked."""
    return coding.agent.model.requests


def say(coding: CodingSession, *texts: str) -> list[End]:
    async def conversation() -> list[End]:
        return [await coding.say(text) for text in texts]

    return coding.runner.run(conversation())


def run(coding: CodingSession, line: str) -> CommandAnswer:
    return coding.runner.run(run_command(coding, line))


def call(name: str, id_: str = "c", **arguments) -> ToolCall:
    return ToolCall(id_, name, arguments)
