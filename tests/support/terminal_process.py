"""The full-screen agent as a process of its own, with a scripted model: `python terminal_process.py FOLDER SCRIPT`.

FOLDER has a repository `repo`; what the agent keeps goes beside it. Nothing of the agent is imported before the
screen is there, as it is with the real command.
"""

import asyncio
import sys
from importlib import import_module
from pathlib import Path

from holdfast.terminal.app import AgentApp
from holdfast.terminal.talk import Target


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
        "none": ("Yes.",),
    }[script]


def opening(folder, script):
    async def open_talk(stage, target):
        loaded = await asyncio.to_thread(import_module, "holdfast.terminal.opened")
        from holdfast.agents.coding.desk import Desk, Opening  # noqa: PLC0415
        from holdfast.agents.coding.setup import Opened  # noqa: PLC0415
        from holdfast.models.scripted import ScriptedModel  # noqa: PLC0415
        from holdfast.packing.profile import BUILT_IN  # noqa: PLC0415
        from holdfast.store import SqliteStore  # noqa: PLC0415
        from holdfast.tools.permissions import no_rules  # noqa: PLC0415

        async def make(*, approver, respondent, watch, target):
            desk = Desk(
                Opening(
                    root=folder / "repo",
                    store=SqliteStore(folder / "store.db"),
                    log=target.log,
                    model=ScriptedModel(*replies(script)),
                    profile=BUILT_IN["code"].scaled_to(32_000),
                    permissions=no_rules(),
                    approver=approver,
                    mode="auto" if script == "sleep" else "ask",
                    respondent=respondent,
                    watch=watch,
                )
            )
            return Opened(desk, (), desk.aclose)

        return await loaded.open_talk(make, stage, target)

    return open_talk


def main(folder, script):
    app = AgentApp(opening(folder, script), root=folder / "repo", start=Target("talk"), grace=0.0)
    sys.exit(app.run())


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
