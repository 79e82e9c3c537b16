"""Pydantic AI harness as a policy: `TieredCompaction`, the default that its reference recommends.

Rule: the tiers and numbers of that reference, scaled to the budget; an agent of the library runs for every request,
and its model is where the request ends.

`target_fraction=0.8` is of the model's window, which is the budget. `max_part_tokens=50_000` of the clamp is scaled
from the library's default window of 200 000. `keep_pairs=3` and `keep_messages=20` are counts and stay.
"""

import re
from importlib.metadata import version

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage
from pydantic_ai_harness.compaction import (
    DEFAULT_CONTEXT_WINDOW,
    ClampOversizedMessages,
    ClearToolResults,
    DeduplicateFileReads,
    SummarizingCompaction,
    TieredCompaction,
)

from peers.adapters.event_loop import wait_for
from peers.adapters.provider_count import ProviderCount
from peers.adapters.pydantic_ai_lists import add_to, to_openai
from peers.adapters.serve import Answer, Bill, Message, Packer, serve
from peers.adapters.stand_in import estimate_tokens, summarize

CLAMP = 50_000
READS = {"read", "read_file"}
_USER = re.compile(r'<message role="user">\n(.*?)\n</message>', re.DOTALL)
_EARLIER = re.compile(r"<previous-summary>\n(.*)\n</previous-summary>", re.DOTALL)


def file_key(call: ToolCallPart) -> str | None:
    """Which file a call reads; the library has no default. Another part of a file is another key, or live text
    would be lost."""
    if call.tool_name.lower() not in READS:
        return None
    arguments = call.args_as_dict()
    path = arguments.get("path") or arguments.get("file_path")
    part = [arguments.get(name) for name in ("offset", "limit", "start_line", "end_line")]
    return path and f"{path} {part}"


class Provider:
    """Where requests end, and whose usage the library goes by."""

    def __init__(self) -> None:
        self._count = ProviderCount()
        self.request: list[Message] = []
        self.bills: list[Bill] = []

    async def accept(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:  # noqa: ARG002
        self.request = to_openai(messages)
        return ModelResponse([TextPart("-")])

    async def summarize(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        """The rule-based stand-in, on the prompt that the library wrote."""
        prompt = "\n".join(message["content"] for message in to_openai(messages))
        earlier = _EARLIER.findall(prompt)
        summary = summarize([*earlier, *_USER.findall(prompt)], prompt)
        self.bills.append(Bill(estimate_tokens(f"{info.instructions}\n{prompt}"), estimate_tokens(summary)))
        return ModelResponse([TextPart(summary)])

    def usage(self, reply: Message) -> RequestUsage:
        asked = sum(map(self._count, self.request))
        return RequestUsage(input_tokens=asked, output_tokens=self._count(reply))


class Tiers:
    """One agent whose history is what the library made of it, and what came since."""

    def __init__(self, budget: int) -> None:
        clamp = CLAMP * budget // DEFAULT_CONTEXT_WINDOW
        self._provider = Provider()
        tiers = TieredCompaction(
            tiers=[
                ClampOversizedMessages(max_part_tokens=clamp),
                DeduplicateFileReads(file_key=file_key),
                ClearToolResults(max_tokens=1, keep_pairs=3),
                SummarizingCompaction(
                    model=FunctionModel(self._provider.summarize), max_messages=1, keep_messages=20
                ),
            ],
            target_fraction=0.8,
            context_window=budget,
        )
        self._agent = Agent(FunctionModel(self._provider.accept), capabilities=[tiers])
        self._history: list[ModelMessage] = []
        self.about = (
            f"pydantic-ai-harness {version('pydantic-ai-harness')}; TieredCompaction(ClampOversizedMessages"
            f"(max_part_tokens={clamp}), DeduplicateFileReads, ClearToolResults(keep_pairs=3), "
            f"SummarizingCompaction(keep_messages=20); target_fraction=0.8 of {budget}), clamp scaled from "
            f"{CLAMP} of {DEFAULT_CONTEXT_WINDOW}, rule-based stand-in for the model"
        )

    def pack(self, new: list[Message], at: float | None) -> Answer:  # noqa: ARG002
        for message in new:
            add_to(self._history, message, self._provider.usage(message))
        if not self._history:
            return Answer([])
        if isinstance(self._history[-1], ModelResponse):
            # An agent does not ask again after an answer, unless a request follows it; this one says nothing.
            self._history.append(ModelRequest([]))
        self._provider.bills.clear()
        run = wait_for(self._agent.run(message_history=self._history))
        # All but the reply of a model that is not there; the recorded one comes with the next request.
        self._history = [
            message
            for message in run.all_messages()[:-1]
            if message.parts or isinstance(message, ModelResponse)
        ]
        return Answer(self._provider.request, tuple(self._provider.bills))


def start(variant: str, budget: int) -> Packer:
    if variant != "tiers":
        raise ValueError(f"there is no variant `{variant}`")
    return Tiers(budget)


if __name__ == "__main__":
    serve(start)
