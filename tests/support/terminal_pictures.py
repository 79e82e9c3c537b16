"""Pictures of the terminal for the docs: `PYTHONPATH=tests python tests/support/terminal_pictures.py [FOLDER]`.

Each is the real screen over a real session with a scripted model; FOLDER is `docs/pictures` if left out.
"""

import asyncio
import os
import re
import sys
import tempfile
from pathlib import Path

from holdfast.agents.coding.task import SUB_AGENT_PROMPT
from holdfast.agents.kept_rules import KeptRules
from holdfast.agents.model_requests import RequestSettings
from holdfast.messages import SystemMessage, Text, Thinking, ToolMessage, Usage
from holdfast.models.catalogue import ModelEntry, Price
from holdfast.models.model import ModelReply
from holdfast.models.scripted import ScriptedModel
from support.terminal_session import Terminal, call, repository

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"

LOADER = '''"""Reads the settings of a project."""

import tomllib
from pathlib import Path


def load(path: Path) -> dict:
    return tomllib.loads(path.read_text())
'''
TEST = """import unittest
from pathlib import Path

from loader import load


class Loading(unittest.TestCase):
    def test_a_missing_file_is_empty(self):
        self.assertEqual(load(Path("none.toml")), {})
"""
TODOS = ("see how the settings are read", "treat a missing file as empty", "run the tests")


def todos(done):
    states = ["completed"] * done + ["in_progress"] + ["pending"] * len(TODOS)
    return [{"content": text, "status": states[n]} for n, text in enumerate(TODOS)]


DONE = """A missing settings file now counts as empty:

- `src/loader.py` returns `{}` where there is no file
- a file that *is* there and broken still raises
"""
SCRIPT = (
    [
        Thinking("The test wants an empty dictionary where there is no file. First I look at the loader."),
        Text("I look at the loader and its test first."),
        call("TodoWrite", "1", todos=todos(0)),
        call("Read", "2", path="src/loader.py"),
        call("Grep", "3", pattern="load\\(", path="tests"),
    ],
    [
        Text("A missing file raises. It should give **no settings** instead."),
        call("TodoWrite", "4", todos=todos(1)),
        call(
            "Edit",
            "5",
            path="src/loader.py",
            old_string="    return tomllib.loads(path.read_text())\n",
            new_string=(
                "    try:\n        text = path.read_text()\n    except FileNotFoundError:\n"
                "        return {}\n    return tomllib.loads(text)\n"
            ),
        ),
    ],
    [
        call("TodoWrite", "6", todos=todos(2)),
        call("Bash", "7", command="PYTHONPATH=src python3 -m unittest discover tests"),
    ],
    [call("TodoWrite", "8", todos=todos(3))],
    DONE,
)


def model():
    """The script with the figures that a provider would report."""
    replies = []
    for n, said in enumerate(SCRIPT):
        parts = (Text(said),) if isinstance(said, str) else tuple(said)
        prompt = 9_400 + 1_900 * n
        usage = Usage(prompt, 180, cache_read=int(prompt * 0.9) if n else 0)
        stop = "end" if isinstance(said, str) else "calls"
        replies.append(ModelReply(parts=parts, stop=stop, usage=usage))
    return ScriptedModel(*replies, name="anthropic/claude-opus-5-5")


def terminal(folder, model_):
    request_settings = RequestSettings(
        entry=ModelEntry(price=Price(input=5, output=25, cache_read=0.5, cache_write=6.25))
    )
    root = repository(folder)
    keeper = KeptRules(root, {"XDG_CONFIG_HOME": str(folder / "config")})
    made = Terminal(folder, model=model_, root=root, request_settings=request_settings, rule_keeper=keeper)
    (made.root / "src" / "loader.py").write_text(LOADER)
    (made.root / "tests").mkdir()
    (made.root / "tests" / "test_loader.py").write_text(TEST)
    return made


async def approving(made, pilot):
    await made.ready(pilot)
    await made.say(pilot, "A missing settings file should count as empty, see @tests/test_loader.py")
    await made.until(pilot, lambda: made.app.panels.panel is not None)
    await made.until(pilot, lambda: "no, and say why" in made.text())
    await pilot.pause(0.3)


async def task(made, pilot):
    await approving(made, pilot)
    await pilot.press("y")
    await made.until(pilot, lambda: not made.app.conversation.is_busy or made.app.panels.panel is not None)
    if made.app.panels.panel is not None:
        await pilot.press("y")
    await made.idle(pilot)
    await pilot.pause(0.3)


LOOKING = {
    "find where settings are read": (
        [call("Grep", "a1", pattern="load\\(")],
        "`src/loader.py:7` reads them, and nothing else does.",
    ),
    "see what the tests expect": (
        [call("Read", "b1", path="tests/test_loader.py")],
        [call("Grep", "b2", pattern="test_a_missing", path="tests")],
    ),
}


class SubAgentModel(ScriptedModel):
    """Two sub-agents at once: one has reported, the other is still looking."""

    def __init__(self):
        super().__init__(self.reply, repeat_last=True, name="anthropic/claude-opus-5-5")

    def reply(self, request):
        first = request.messages[0]
        if not (isinstance(first, SystemMessage) and first.text.startswith(SUB_AGENT_PROMPT)):
            said = [Text("Two questions that do not wait for each other:")]
            said += [call("Task", f"t{n}", description=text, prompt=text) for n, text in enumerate(LOOKING)]
            return ModelReply(parts=tuple(said), stop="calls", usage=Usage(9_400, 120))
        asked = next(m.parts[0].text for m in request.messages if hasattr(m, "parts"))
        step = sum(isinstance(message, ToolMessage) for message in request.messages)
        said = LOOKING[asked][step]
        parts = (Text(said),) if isinstance(said, str) else tuple(said)
        stop = "end" if isinstance(said, str) else "calls"
        return ModelReply(
            parts=parts, stop=stop, usage=Usage(3_100 + 900 * step, 90, cache_read=2_800 if step else 0)
        )

    async def stream(self, request):
        if sum(isinstance(message, ToolMessage) for message in request.messages) == len(LOOKING):
            await asyncio.Event().wait()
        async for came in super().stream(request):
            yield came


async def sub_agents(made, pilot):
    await made.ready(pilot)
    await made.say(pilot, "How are settings read, and what do the tests want of them?")
    await made.until(
        pilot, lambda: "Grep test_a_missing" in made.text() and "nothing else does" in made.text()
    )
    await pilot.pause(0.3)


async def picture(scene, size):
    with tempfile.TemporaryDirectory() as folder:
        made = terminal(Path(folder), SubAgentModel() if scene is sub_agents else model())
        async with made.app.run_test(size=size) as pilot:
            await scene(made, pilot)
            return tidy(made.app.export_screenshot(title="holdfast", simplify=True))


def tidy(svg):
    """The same bytes for the same screen: without numbers of chance, and without a font from elsewhere."""
    number = re.search(r"terminal-(\d+)-", svg)[1]
    svg = svg.replace(f"terminal-{number}", "terminal")
    svg = re.sub(r"log&#160;l[0-9a-z]{16}", "log&#160;l1m7gb82t1adkhzdj", svg)
    return re.sub(r"@font-face \{.*?\}\n?", "", svg, flags=re.DOTALL)


SCENES = {
    "terminal-task": (task, (100, 44), False),
    "terminal-approval": (approving, (100, 40), False),
    "terminal-sub-agents": (sub_agents, (100, 18), False),
    "terminal-80x24": (approving, (80, 24), True),
}


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, (scene, size, is_plain) in SCENES.items():
        os.environ.pop("NO_COLOR", None)
        if is_plain:
            os.environ["NO_COLOR"] = "1"
        (folder / f"{name}.svg").write_text(asyncio.run(picture(scene, size)), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURES)
