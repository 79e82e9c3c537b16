"""What a step of the agent costs besides the model and the tool: log, fold, pack, request, results.

    uv run python benchmarks/agent_step.py [--tokens 1000] [--window 200k] [--folds 3] [--json]

A scripted model calls a tool that answers at once with made-up lines, until the window was folded a few times. The
baseline is the same loop over a plain list of messages, with no log, no packing and no limit, in the same process.
Times are CPU time, since machines are shared.
"""

import argparse
import asyncio
import json
import random
import statistics
import tempfile
import time
from pathlib import Path

from msgspec import Struct

from holdfast.agents.agent import Agent
from holdfast.agents.loop import run
from holdfast.agents.notices import FoldMade, Notice, StepBegan
from holdfast.messages import AssistantMessage, Message, Text, ToolCall, ToolMessage, UserMessage
from holdfast.models.model import ModelRequest
from holdfast.models.scripted import ScriptedModel
from holdfast.packing.amounts import parse_tokens
from holdfast.packing.profile import CODE
from holdfast.session import Session
from holdfast.tools.envelope import ToolResult, tool_result
from holdfast.tools.tool import TypedTool
from holdfast.tools.workspace import Workspace

NAMES = [f"{a}_{b}" for a in ("load", "parse", "emit", "fold") for b in ("value", "path", "row", "entry")]
MOST_STEPS = 1_000


class Nothing(Struct, frozen=True):
    path: str


def lines(rng: random.Random, tokens: int) -> str:
    rows = (f"    {' '.join(rng.choices(NAMES, k=5))}  # {rng.randrange(10**6)}" for _ in range(tokens // 21))
    return "\n".join(rows)


class Clock:
    """CPU time that is nobody else's: what a model and a tool take is taken out."""

    def __init__(self) -> None:
        self.outside = 0.0
        self.steps: list[tuple[float, int, bool]] = []
        """Seconds, tokens of the pack, and whether it was folded before it."""
        self._began = time.process_time()
        self._tokens = 0
        self._folded = False

    def hear(self, notice: Notice) -> None:
        if isinstance(notice, FoldMade):
            self._folded = True
        elif isinstance(notice, StepBegan):
            self._tokens = notice.tokens

    def step_ends(self) -> None:
        now = time.process_time()
        self.steps.append((now - self._began - self.outside, self._tokens, self._folded))
        self._began, self.outside, self._folded = now, 0.0, False


async def measured(tokens: int, window: int, folds: int) -> list[tuple[float, int, bool]]:
    rng, clock, made = random.Random(7), Clock(), [0]

    async def work(arguments: Nothing, _: Workspace) -> ToolResult:
        began = time.process_time()
        result = tool_result(lines(rng, tokens), "read", context={"path": arguments.path})
        clock.outside += time.process_time() - began
        return result

    def reply(_: ModelRequest) -> list[ToolCall | Text]:
        clock.step_ends()
        made[0] += 1
        if sum(folded for _, _, folded in clock.steps) >= folds or made[0] >= MOST_STEPS:
            return [Text("Done.")]
        return [Text(f"Step {made[0]}."), ToolCall(f"c{made[0]}", "Look", {"path": f"src/part_{made[0]}.py"})]

    with tempfile.TemporaryDirectory() as folder:
        tool = TypedTool("Look", Nothing, "Looks.", work, is_read_only=True)
        session = Session(
            profile=CODE.scaled_to(window),
            store=Path(folder) / "store.db",
            system="You look.",
            tools=None,
        )
        model = ScriptedModel(reply, repeat_last=True, piece=10_000)
        model.requests = Unkept()
        summarizer = ScriptedModel("## Goal\n- look at every part", repeat_last=True)
        agent = Agent(model, [tool], session=session, summarizer=summarizer, watch=clock.hear)
        agent.say("Look at every part.")
        await run(agent)
        await agent.aclose()
        session.close()
    return clock.steps[1:]


class Unkept(list[ModelRequest]):
    """A scripted model keeps its requests; here they would be counted as memory of ours."""

    def append(self, request: ModelRequest) -> None:
        super().append(request)
        if len(self) > 1:
            del self[0]


def plain_loop(tokens: int, steps: int) -> list[float]:
    """The same conversation over a list."""
    rng, times = random.Random(7), []
    messages: list[Message] = [UserMessage((Text("Look at every part."),))]
    for number in range(steps):
        result = lines(rng, tokens)
        began = time.process_time()
        call = ToolCall(f"c{number}", "Look", {"path": f"src/part_{number}.py"})
        messages.append(AssistantMessage((Text(f"Step {number}."), call)))
        messages.append(ToolMessage(call.id, call.name, (Text(result),)))
        ModelRequest(messages=tuple(messages))
        times.append(time.process_time() - began)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokens", type=int, default=1000)
    parser.add_argument("--window", default="200k")
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    window = parse_tokens(args.window)
    steps = asyncio.run(measured(args.tokens, window, args.folds))
    quiet = [seconds for seconds, _, folded in steps if not folded]
    full = [seconds for seconds, size, folded in steps if not folded and size > 0.5 * window]
    folded = [seconds for seconds, _, is_folded in steps if is_folded]
    plain = statistics.median(plain_loop(args.tokens, len(steps)))
    ms = 1000
    rows = [
        ("median step", f"{statistics.median(quiet) * ms:.1f} ms", "≤ 30 ms"),
        ("median step, window more than half full", f"{statistics.median(full) * ms:.1f} ms", "≤ 30 ms"),
        ("worst step without a fold", f"{max(quiet) * ms:.1f} ms", ""),
        ("worst step with a fold", f"{max(folded, default=0) * ms:.0f} ms ({len(folded)} folds)", "≤ 250 ms"),
        ("median step / plain list", f"{statistics.median(quiet) / plain:.0f} x", "baseline"),
    ]
    if args.json:
        print(json.dumps({name: value for name, value, _ in rows}))
        return
    print(f"{len(steps)} steps of about {args.tokens} tokens, window {args.window}, SQLite store on disk\n")
    for name, value, target in rows:
        print(f"{name:<42} {value:<22} {target}")


if __name__ == "__main__":
    main()
