"""What the two agents of the example say: a fixed script, in which each reply is a function of the request alone.

A reply begins with its place, such as `[2.3]`: second turn, third step. The next place follows from the last one
that stands in the request, so that it is found again after a crash and after a summary. A call whose result says
that nobody knows what it did is looked into first, and made again only if it was not done.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from holdfast.messages import AssistantMessage, Json, Text, ToolCall, ToolMessage, UserMessage, joined_text
from holdfast.models.model import ModelRequest
from holdfast.models.scripted import ScriptedModel

Answer = Callable[[ModelRequest], str | list[Text | ToolCall]]

_PLACE = re.compile(r"^\[(\d+)\.(\d+)( looks| again)?\]")
_LOST = "the process ended before a result"
_NO_TURN = ("<system-reminder>", "Summarise the work so far")


@dataclass(frozen=True)
class Say:
    """One step: words and a call. `look` is what is read to see whether it was done: then all lines of `done` are
    in it."""

    words: str
    tool: str
    arguments: dict[str, Json]
    look: dict[str, Json] = field(default_factory=dict)
    done: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Place:
    turn: int
    step: int
    kind: str = ""


def scripted(name: str, turns: Sequence[Sequence[Say]], summary: dict[str, Json]) -> ScriptedModel:
    return ScriptedModel(answers(name, turns, summary), name=name, repeat_last=True, piece=10_000)


def answers(name: str, turns: Sequence[Sequence[Say]], summary: dict[str, Json]) -> Answer:
    def answer(request: ModelRequest) -> str | list[Text | ToolCall]:
        if not request.tools or "<compact_summary>" in joined_text(request.messages[-1].parts):
            return f"I have got this far.\n<compact_summary>{json.dumps(summary)}</compact_summary>"
        place = _next(request, turns)
        assert place.turn <= len(turns) and place.step <= len(turns[place.turn - 1]), (  # noqa: PT018 - one place
            f"{name} has nothing to say at {place.turn}.{place.step}, after: {_newest(request)}"
        )
        step = turns[place.turn - 1][place.step - 1]
        id_ = f"{name[:1]}{place.turn}_{place.step}{place.kind[1:2]}"
        words = f"[{place.turn}.{place.step}{place.kind}] {step.words}"
        if place.kind == " looks":
            return [Text(words), ToolCall(id_, "Read", step.look)]
        return [Text(words), ToolCall(id_, step.tool, step.arguments)]

    return answer


def _next(request: ModelRequest, turns: Sequence[Sequence[Say]]) -> _Place:
    last, results, is_opened = _Place(0, 0), list[str](), False
    for message in request.messages:
        match message:
            case AssistantMessage() if found := _PLACE.match(message.text):
                last, results, is_opened = _Place(int(found[1]), int(found[2]), found[3] or ""), [], False
            case ToolMessage():
                results.append(message.text)
            case UserMessage(parts=parts) if not joined_text(parts).startswith(_NO_TURN):
                is_opened = True
    if is_opened or not last.turn:
        return _Place(last.turn + 1, 1)
    step = turns[last.turn - 1][last.step - 1]
    result = results[-1] if results else _LOST
    if last.kind == " looks" and _LOST not in result:
        is_done = all(line in result for line in step.done)
        return _after(last) if is_done else _Place(last.turn, last.step, " again")
    if _LOST in result:
        return _Place(last.turn, last.step, " looks" if step.look else " again")
    return _after(last)


def _newest(request: ModelRequest) -> str:
    """The last message of others, in short."""
    message = request.messages[-1]
    return joined_text(message.parts)[-600:] if isinstance(message, UserMessage | ToolMessage) else ""


def _after(place: _Place) -> _Place:
    return _Place(place.turn, place.step + 1)


def writes(words: str, path: str, content: str) -> Say:
    lines = tuple(line.strip() for line in content.splitlines())
    return Say(words, "Write", {"path": path, "content": content}, look={"path": path}, done=lines)


def reads(words: str, path: str) -> Say:
    return Say(words, "Read", {"path": path})


def evaluates(iteration: int, rate: str) -> Say:
    command = {"command": f"python3 evaluate.py {iteration}"}
    done = (f"iteration {iteration}: {rate}",)
    return Say("I evaluate.", "Bash", command, look={"path": "journal.txt"}, done=done)


def hands_over(words: str, **handover: Json) -> Say:
    return Say(words, "HandOver", handover)
