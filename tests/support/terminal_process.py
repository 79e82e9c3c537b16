"""The full-screen agent as a process of its own, with a scripted model: `python terminal_process.py FOLDER SCRIPT`.

FOLDER has a repository `repo`; what the agent keeps goes beside it. Nothing of the agent is imported before the
screen is there, as it is with the real command.
"""

import asyncio
import os
import sys
from importlib import import_module
from pathlib import Path

from holdfast.agents.options import AgentOptions
from holdfast.terminal.app import AgentApp


def replies(script):
    from holdfast.messages import ToolCall  # noqa: PLC0415

    edit = {"path": "main.py", "old_string": "old", "new_string": "new"}
    return {
        "edit": (
            [ToolCall("1", "Read", {"path": "main.py"})],
            [ToolCall("2", "Edit", edit)],
            "It prints **new** now.",
        ),
        "sleep": ([ToolCall("1", "Bash", {"command": "sleep 60"})], "Slept."),
        "make": ([ToolCall("1", "Bash", {"command": "make test"})], "It is made."),
        "none": ("Yes.",),
    }[script]


def opening(folder, script):
    async def open_session(display, options):
        loaded = await asyncio.to_thread(import_module, "holdfast.terminal.screen_session")
        from holdfast.agents.build import AgentConfig  # noqa: PLC0415
        from holdfast.agents.coding.coding_session import CodingSession, OpenedSession  # noqa: PLC0415
        from holdfast.agents.kept_rules import KeptRules  # noqa: PLC0415
        from holdfast.agents.resolved_config import load_permissions  # noqa: PLC0415
        from holdfast.models.scripted import ScriptedModel  # noqa: PLC0415
        from holdfast.packing.profile import BUILT_IN  # noqa: PLC0415
        from holdfast.store import SqliteStore  # noqa: PLC0415

        root = folder / "repo"

        async def make(options, *, approver, responder, watch):
            coding = CodingSession(
                AgentConfig(
                    root=root,
                    store=SqliteStore(folder / "store.db"),
                    log=options.log,
                    model=ScriptedModel(*replies(script)),
                    profile=BUILT_IN["code"].scaled_to(32_000),
                    permissions=load_permissions(root, os.environ)[1],
                    rule_keeper=KeptRules(root, os.environ),
                    approver=approver,
                    mode="auto" if script == "sleep" else "ask",
                    responder=responder,
                    watch=watch,
                )
            )
            return OpenedSession(coding, (), coding.aclose)

        return await loaded.open_screen_session(display, options, make)

    return open_session


def main(folder, script):
    options = AgentOptions(root=folder / "repo", log="session")
    app = AgentApp(options, opening(folder, script), grace=0.0)
    sys.exit(app.run())


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
