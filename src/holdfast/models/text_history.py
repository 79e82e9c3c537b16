"""A history of calls and results as text, for models that have no messages of their own for them.

Rule: pure, and nothing is lost: what a call said, what came back and in which order. What came from a tool stands
behind marks, so that no line of it can pass for an action of the model.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from holdfast.messages import (
    AssistantMessage,
    AssistantPart,
    Image,
    Message,
    SystemMessage,
    Text,
    Thinking,
    ToolMessage,
    UserMessage,
    UserPart,
)
from holdfast.models.protocol import Request
from holdfast.models.text_format import (
    instructions,
    written_answer,
    written_call,
    written_observation,
    written_thought,
)


def as_text(request: Request) -> Request:
    """A request whose tools and whose calls and results are text. Without tools, answers carry no label either."""
    shown = _Shown(is_labelled=bool(request.tools))
    messages = request.messages
    if request.tools:
        told = instructions(request.tools)
        if messages and isinstance(first := messages[0], SystemMessage):
            shown.messages.append(SystemMessage(f"{first.text}\n\n{told}"))
            shown.ends.append(1)
            messages = messages[1:]
        else:
            shown.messages.append(SystemMessage(told))
    at = 0
    while at < len(messages):
        results = _results_behind(messages, at)
        shown.add(messages[at], results)
        at += 1 + len(results)
    ends = {shown.ends[end] for end in request.layer_ends if end} - {0}
    return replace(request, messages=tuple(shown.messages), tools=(), layer_ends=tuple(sorted(ends)))


def _results_behind(messages: Sequence[Message], at: int) -> list[ToolMessage]:
    results: list[ToolMessage] = []
    if isinstance(messages[at], AssistantMessage):
        for message in messages[at + 1 :]:
            if not isinstance(message, ToolMessage):
                break
            results.append(message)
    return results


class _Shown:
    """Messages as text, being written. `ends[n]` is how many of them stand for the first n of the original."""

    def __init__(self, *, is_labelled: bool) -> None:
        self.messages: list[Message] = []
        self.ends = [0]
        self._is_labelled = is_labelled

    def add(self, message: Message, results: list[ToolMessage]) -> None:
        """A message, with the results that belong to it."""
        before = len(self.messages)
        match message:
            case AssistantMessage():
                self._add_step(message, results)
            case ToolMessage():
                self._add_user(_observed(message))
            case UserMessage():
                self._add_user(message.parts)
            case _:
                self.messages.append(message)
        # A layer that ends inside a step ends before it here.
        self.ends += [before] * len(results) + [len(self.messages)]

    def _add_step(self, message: AssistantMessage, results: list[ToolMessage]) -> None:
        """One call and its result after the other, as the model itself would have had to do it."""
        left = list(results)
        bound: tuple[AssistantPart, ...] = tuple(part for part in message.parts if _is_bound(part))
        lines = self._said(message)
        for call in message.calls:
            self.messages.append(AssistantMessage((*bound, Text("\n".join([*lines, written_call(call)])))))
            bound, lines = (), []
            result = next((r for r in left if r.call_id == call.id), None)
            if result is None:
                self._add_user((Text(written_observation(call.name, "(no result)")),))
            else:
                left.remove(result)
                self._add_user(_observed(result))
        if lines:
            self.messages.append(AssistantMessage((*bound, Text("\n".join(lines)))))
        for result in left:
            self._add_user(_observed(result))

    def _said(self, message: AssistantMessage) -> list[str]:
        if not message.text.strip():
            return []
        if not self._is_labelled:
            return [message.text]
        return [written_thought(message.text) if message.calls else written_answer(message.text)]

    def _add_user(self, parts: tuple[UserPart, ...]) -> None:
        """Joined with a user message before it: models of this kind often insist that roles alternate."""
        if self.messages and isinstance(last := self.messages[-1], UserMessage):
            self.messages[-1] = UserMessage((*last.parts, *parts))
            inside = len(self.messages)
            self.ends = [end - 1 if end == inside else end for end in self.ends]
        else:
            self.messages.append(UserMessage(parts))


def _is_bound(part: AssistantPart) -> bool:
    """Thinking that a provider wants to see again as it was. Other thinking is not kept in a history."""
    return isinstance(part, Thinking) and bool(part.signature or part.redacted)


def _observed(result: ToolMessage) -> tuple[UserPart, ...]:
    images = tuple(part for part in result.parts if isinstance(part, Image))
    return (Text(written_observation(result.name, result.text, is_error=result.error)), *images)
