"""Pairs for tests: a folder, two scripted models, any roles; run to an end and resumed."""

import asyncio
from pathlib import Path

from msgspec.structs import replace

from holdfast.agents.options import AgentOptions
from holdfast.agents.pair.journal import PairOutcome
from holdfast.agents.pair.startup import OpenedPair, PairCallbacks, PairOptions, open_pair
from holdfast.events import Entry
from holdfast.log import Log
from holdfast.messages import Text, ToolCall, UserMessage, joined_text
from holdfast.models.scripted import ScriptedModel
from holdfast.pair.phases import Phase, read_phase
from holdfast.pair.roles import Pair, parse_pair
from holdfast.store import SqliteStore

LONG = "This was looked at closely, and what came of it stands in the files that are named here. " * 8
"""Enough words for a handover that is not too short."""

PLANNER_WORKER = """
name = "planner_worker"

[[roles]]
name = "planner"
prompt = "You plan."
tools = ["Read", "Write"]
profile = "init"
handover = { name = "plan", requires = ["design"] }

[[roles]]
name = "worker"
prompt = "You work by the plan."
tools = ["Read", "Write", "Bash"]
profile = "execute"
handover = { name = "report" }
"""

BOTH = PLANNER_WORKER.replace("planner_worker", "measured").replace(
    'handover = { name = "report" }', 'measures = true\nlayers = [2]\nhandover = { name = "report" }'
)
"""The same, and the second one evaluates."""


def pair_of(text: str = PLANNER_WORKER, **changes) -> Pair:
    return parse_pair(text, "test.toml", lambda _: "")


class PairRun:
    """A folder, and a pair that is opened in it again and again."""

    def __init__(self, folder: Path, pair: Pair | None = None) -> None:
        self.root = folder / "work"
        self.root.mkdir()
        self.store = folder / "store.db"
        self.pair = pair or pair_of()
        self.phases: list[Phase] = []
        self.models: tuple[ScriptedModel, ScriptedModel] = (ScriptedModel("-"), ScriptedModel("-"))

    def run(
        self, first, second, *, goes_on: bool = False, people: PairCallbacks | None = None, **more
    ) -> PairOutcome:
        """Both scripts are lists of replies; each is told to the end."""
        self.models = self.scripts(first, second)
        options = AgentOptions(root=self.root, store=self.store, mode="auto", sandbox="off")
        given = {
            "agent": options,
            "pair": None if goes_on else self.pair,
            "task": "" if goes_on else "Do it.",
            **more,
        }
        seen = people or PairCallbacks()
        return asyncio.run(self._run(PairOptions(**given), seen if goes_on else self._staged(seen)))

    def _staged(self, people: PairCallbacks) -> PairCallbacks:
        """Outputs that a test wrote are put there as the pair begins: a new one refuses a folder that has some."""
        outputs, aside = self.root / self.pair.outputs.folder, self.root.parent / "staged"
        if not outputs.exists():
            return people
        outputs.rename(aside)

        def tell(phase: Phase) -> None:
            if aside.exists():
                aside.rename(outputs)
            people.tell(phase)

        return replace(people, tell=tell)

    def scripts(self, first, second):
        return tuple(
            script_of(role.name, replies)
            for role, replies in zip(self.pair.roles, (first, second), strict=True)
        )

    async def _run(self, options: PairOptions, people: PairCallbacks) -> PairOutcome:
        opened = await open_pair(options, people, env={}, models=self.models)
        try:
            return await self._run_opened(opened)
        finally:
            await opened.close()

    async def _run_opened(self, opened: OpenedPair) -> PairOutcome:
        outcome = await opened.orchestrator.run()
        self.phases = [*opened.orchestrator.journal.phases]
        return outcome

    def entries(self, role: str = "") -> list[Entry]:
        """Of the log of a role, or of the pair itself."""
        with SqliteStore(self.store) as store:
            log = next(info.head.id for info in store.logs() if info.head.source == "holdfast pair")
            return Log.open(store, f"{log}.{role}" if role else log).entries()

    def names(self) -> list[str]:
        """Kinds of the phases in the pair's log."""
        phases = (read_phase(entry.event) for entry in self.entries())
        return [type(phase).__name__ for phase in phases if phase]


def script_of(name: str, replies: list) -> ScriptedModel:
    """Replies one after the other; whoever asks for a summary gets none."""
    left = [*replies]

    def answer(request):
        if "<compact_summary>" in joined_text(request.messages[-1].parts):
            return "I would rather not."
        assert left, f"`{name}` was asked once more than its script is long"
        return left.pop(0)

    return ScriptedModel(answer, name=f"script/{name}", repeat_last=True, piece=10_000)


def write(path: str, content: str, id_: str = "w") -> list:
    return [Text("I write."), ToolCall(id_, "Write", {"path": path, "content": content})]


def read(path: str, id_: str = "r") -> list:
    return [Text("I read."), ToolCall(id_, "Read", {"path": path})]


def bash(command: str, id_: str = "b") -> list:
    return [Text("I run it."), ToolCall(id_, "Bash", {"command": command})]


def hand_over(*paths: str, id_: str = "h", **more) -> list:
    given = {"summary": LONG, "asks": LONG, "files": [{"path": path} for path in paths], **more}
    return [Text("I hand over."), ToolCall(id_, "HandOver", given)]


def users_in(request) -> list[str]:
    """The user messages of a request as the model got them."""
    return [joined_text(m.parts) for m in request.messages if isinstance(m, UserMessage)]


def last_results(request) -> list[str]:
    """The results behind the last reply."""
    found: list[str] = []
    for message in request.messages:
        if type(message).__name__ == "AssistantMessage":
            found = []
        elif type(message).__name__ == "ToolMessage":
            found.append(message.text)
    return found
