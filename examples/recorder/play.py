"""Play a script: run its calls in order and write down what really came back.

Rule: time is made up and depends on the script alone; everything else in a result has happened.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from recorder.script import Call, Round, Step
from recorder.tools import execute
from recorder.workspace import Workspace

START = datetime(2026, 3, 2, 9, 0, 0, tzinfo=UTC)
USER_SECONDS = 240
MODEL_SECONDS = 3
TOOL_SECONDS = 1
CHARACTERS_PER_SECOND = 60


@dataclass
class Played:
    """Messages in the neutral shape and the moment of each."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    moments: list[datetime] = field(default_factory=list)
    now: datetime = START
    calls: int = 0

    def add(self, message: dict[str, Any], seconds: int) -> None:
        self.now += timedelta(seconds=seconds)
        self.messages.append(message)
        self.moments.append(self.now)


def play(rounds: Sequence[Round], workspace: Workspace) -> Played:
    played = Played()
    for each in rounds:
        pasted = workspace.run(each.paste, played.now).output if each.paste else ""
        said = each.said.replace("{paste}", pasted)
        played.add({"role": "user", "content": said}, USER_SECONDS if played.messages else 0)
        for step in each.steps:
            _take(step, workspace, played)
        assert not each.steps[-1].calls, "a round ends with words"
    return played


def _take(step: Step, workspace: Workspace, played: Played) -> None:
    message: dict[str, Any] = {"role": "assistant", "content": step.text}
    if step.reasoning:
        message["reasoning"] = step.reasoning
    ids = [f"call_{played.calls + number:04d}" for number, _ in enumerate(step.calls, 1)]
    played.calls += len(ids)
    if step.calls:
        message["tool_calls"] = [
            {"id": call_id, "name": call.name, "arguments": call.arguments}
            for call_id, call in zip(ids, step.calls, strict=True)
        ]
    written = len(json.dumps(message, ensure_ascii=False))
    played.add(message, MODEL_SECONDS + written // CHARACTERS_PER_SECOND)
    for call_id, call in zip(ids, step.calls, strict=True):
        _answer(call_id, call, workspace, played)


def _answer(call_id: str, call: Call, workspace: Workspace, played: Played) -> None:
    result = execute(call, workspace, played.now)
    told = f"{call.name} {call.arguments} gave\n{result.text}"
    assert result.error == call.fails, f"unexpected {'failure' if result.error else 'success'}: {told}"
    assert call.expect in result.text, f"no {call.expect!r} where the script claims it: {told}"
    message: dict[str, object] = {
        "role": "tool",
        "content": result.text,
        "tool_call_id": call_id,
        "name": call.name,
    }
    if result.error:
        message["is_error"] = True
    played.add(message, TOOL_SECONDS)
