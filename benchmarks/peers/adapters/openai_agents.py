"""OpenAI Agents SDK as a policy: the filter for model input that comes with it, `ToolOutputTrimmer`.

Rule: documented defaults. The library has no budget; without a filter it sends everything, as our `everything`.
"""

import json
from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

from agents.extensions import ToolOutputTrimmer
from agents.items import ModelResponse
from agents.run_config import CallModelInputFilter

from agents import Agent, Model, RunConfig, Runner, set_tracing_disabled
from peers.adapters.event_loop import wait_for
from peers.adapters.serve import Answer, Message, Packer, serve

Item = dict[str, Any]
set_tracing_disabled(True)


class Sent(Exception):
    """The request left the library; there is no model to answer it, so the run ends here."""


class Recorder(Model):
    """A model that keeps the request and answers nothing."""

    request: list[Item]

    async def get_response(self, **request: Any) -> ModelResponse:
        self.request = request["input"]
        raise Sent

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


class Filtered:
    """A run for each request, with the whole history as its input."""

    def __init__(self, filter_: CallModelInputFilter, about: str) -> None:
        self._model = Recorder()
        self._agent = Agent("replay", model=self._model)
        self._config = RunConfig(call_model_input_filter=filter_)
        self._history: list[Item] = []
        self.about = f"openai-agents {version('openai-agents')}; {about}"

    def pack(self, new: list[Message], at: float | None) -> Answer:  # noqa: ARG002
        self._history += to_items(new)
        if not self._history:
            return Answer([])
        try:
            wait_for(Runner.run(self._agent, self._history, run_config=self._config))
        except Sent:
            return Answer(to_openai(self._model.request))
        raise AssertionError("the run ended without a request")


def to_items(messages: Iterable[Message]) -> list[Item]:
    items: list[Item] = []
    for message in messages:
        text, calls = message.get("content") or "", message.get("tool_calls") or ()
        if message["role"] == "tool":
            items.append({"type": "function_call_output", "call_id": message["tool_call_id"], "output": text})
        elif text or not calls:
            items.append({"role": message["role"], "content": text})
        items += [
            {
                "type": "function_call",
                "call_id": call["id"],
                "name": call["name"],
                "arguments": json.dumps(call["arguments"], ensure_ascii=False),
            }
            for call in calls
        ]
    return items


def to_openai(items: Iterable[Item]) -> list[Message]:
    names: dict[str, str] = {}
    sent: list[Message] = []
    for item in items:
        match item.get("type"):
            case "function_call":
                names[item["call_id"]] = item["name"]
                call = {
                    "id": item["call_id"],
                    "name": item["name"],
                    "arguments": json.loads(item["arguments"]),
                }
                if not sent or sent[-1]["role"] != "assistant":
                    sent.append({"role": "assistant", "content": ""})
                sent[-1].setdefault("tool_calls", []).append(call)
            case "function_call_output":
                call_id = item["call_id"]
                result = {"role": "tool", "tool_call_id": call_id, "name": names.get(call_id, "")}
                sent.append(result | {"content": item["output"]})
            case _:
                sent.append({"role": item["role"], "content": item["content"]})
    return sent


def start(variant: str, budget: int) -> Packer:  # noqa: ARG001 - the library has none
    if variant != "trimmer":
        raise ValueError(f"there is no variant `{variant}`")
    trimmer = ToolOutputTrimmer()
    return Filtered(trimmer, str(trimmer))


if __name__ == "__main__":
    serve(start)
