"""A full-screen agent over a real session: real tools in a real repository, a scripted model, the real
permissions."""

import asyncio
import subprocess
import time
from pathlib import Path

from msgspec.structs import replace

from holdfast.agents.build import AgentConfig
from holdfast.agents.coding.coding_session import CodingSession, OpenedSession
from holdfast.agents.model_requests import RequestSettings
from holdfast.agents.options import AgentOptions
from holdfast.agents.sessions import SOURCE
from holdfast.log import Log
from holdfast.messages import ToolCall
from holdfast.models.scripted import ScriptedModel
from holdfast.packing.profile import BUILT_IN
from holdfast.store import SqliteStore
from holdfast.terminal.app import AgentApp
from holdfast.terminal.screen_session import open_screen_session
from holdfast.tools.permissions.tool_rules import Permissions


def repository(folder: Path) -> Path:
    root = folder / "repo"
    (root / "src").mkdir(parents=True)
    (root / "main.py").write_text("def main():\n    print('old')\n")
    (root / "src" / "加载.py").write_text("x = 1\n")
    (root / "src" / "with space.py").write_text("y = 1\n")
    (root / "code_law.md").write_text("Never use tabs.\n")
    subprocess.run(["git", "init", "-q", "-b", "main", root], check=True)
    return root


def call(name, id_="c", **arguments):
    return ToolCall(id_, name, arguments)


class Terminal:
    """What a test holds of a terminal: the app, the model, what was opened, the newest session."""

    def __init__(
        self,
        folder: Path,
        *replies,
        mode="ask",
        log="session",
        root=None,
        model=None,
        request_settings=None,
        **config,
    ):
        self.folder = folder
        self.root = root or repository(folder)
        self.model = model or ScriptedModel(*(replies or ("Yes.",)))
        self.request_settings = request_settings or RequestSettings()
        self.mode = mode
        self.config = config
        self.hooks = ()
        self.coding = None
        self.targets = []
        self.app = AgentApp(
            AgentOptions(root=self.root, log=log),
            lambda display, options: open_screen_session(display, options, self.make),
            grace=0.0,
        )

    async def make(self, options, *, approver, responder, watch):
        self.targets.append(options)
        store = SqliteStore(self.folder / "store.db")
        if not any(info.head.id == options.log for info in store.logs()):
            # As a session is started: its first entry says which folder it belongs to.
            log = Log.create(store, id=options.log, source=SOURCE, meta={"root": str(self.root.resolve())})
            options = replace(options, log=log.id)
        self.coding = CodingSession(
            AgentConfig(
                root=self.root,
                store=store,
                log=options.log,
                model=self.model,
                request_settings=self.request_settings,
                profile=BUILT_IN["code"].scaled_to(32_000),
                permissions=Permissions(),
                approver=approver,
                mode=self.mode,
                responder=responder,
                watch=watch,
                hooks=self.hooks,
                snapshots=self.folder / "snapshots",
                **self.config,
            )
        )
        return OpenedSession(self.coding, (), self.coding.aclose)

    async def until(self, pilot, condition, seconds=60.0):
        """Wait until something is true, and no longer."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            await pilot.pause()
            if condition():
                return
            await asyncio.sleep(0.02)
        raise AssertionError(f"it did not happen; the screen says:\n{self.text()}")

    async def ready(self, pilot):
        await self.until(
            pilot, lambda: self.app.conversation.session is not None and not self.app.conversation.is_busy
        )

    async def idle(self, pilot):
        """Wait until nothing runs, and what changed is painted."""
        await self.until(pilot, lambda: not self.app.conversation.is_busy and not self.app.transcript._stale)
        await pilot.pause()

    async def type(self, pilot, text, *keys):
        for character in text:
            self.app.prompt.insert(character)
        await pilot.press(*keys)

    async def say(self, pilot, text):
        await self.type(pilot, text, "enter")

    def asked(self, text, *keys, size):
        """What the screen says when a call is asked about, and after each key; at the end nothing may wait."""
        seen = []

        async def work():
            async with self.app.run_test(size=size) as pilot:
                await self.ready(pilot)
                await self.say(pilot, text)
                await self.until(pilot, lambda: self.app.panels.panel is not None)
                await pilot.pause()
                seen.append(self.text())
                for key in keys:
                    await pilot.press(key)
                    await pilot.pause()
                    seen.append(self.text())
                await self.idle(pilot)

        driven(work())
        return seen

    def text(self) -> str:
        """What stands on the screen."""
        lines = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in lines)

    def events(self, kind):
        return [e.event for e in self.coding.session.log.entries() if isinstance(e.event, kind)]


def driven(work):
    """Run a coroutine of a test."""
    return asyncio.run(work)
