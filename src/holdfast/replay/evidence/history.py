"""What had happened before a request, indexed for evidence.

Rule: it only grows, message by message, and a copy of a file that was edited since no longer counts.
"""

from msgspec import Struct

from holdfast.messages import ToolCall
from holdfast.replay.evidence.reading import Reading, argument_values
from holdfast.replay.request import Said
from holdfast.tool_use import ToolUse, recognise

Place = tuple[int, int]
"""A message and a line of it."""

FAILED = ("error", "<tool_use_error", "failed", "traceback", "no changes", "string to replace not found")
"""How results of edits begin that changed nothing: recordings in OpenAI's shape have no other mark of it."""


class Files(Struct):
    """Copies of files among the messages so far, and which of them are out of date.

    A read's result and a write's content are copies. An edit or a write of the same path makes every earlier copy
    stale, whole: what of it still holds, only the file could tell.
    """

    stale_results: set[str] = set()
    stale_contents: set[str] = set()
    uses: dict[str, ToolUse] = {}
    """Calls by id."""
    _reads: dict[str, list[str]] = {}
    _writes: dict[str, list[str]] = {}

    def note(self, said: Said) -> None:
        if said.role == "assistant":
            self._note_calls(said)
        elif said.role == "tool":
            self._note_result(said)

    def _note_calls(self, said: Said) -> None:
        for call in said.calls:
            arguments = dict(argument_values(call.arguments))
            self.uses[call.id] = recognise(ToolCall(call.id, call.name, arguments))

    def _note_result(self, said: Said) -> None:
        use = self.uses.get(said.answers)
        if use is None or not use.path:
            return
        if use.kind == "read":
            self._reads.setdefault(use.path, []).append(said.answers)
        elif use.kind in ("edit", "multiedit", "write") and not said.text.lstrip().lower().startswith(FAILED):
            self.stale_results.update(self._reads.pop(use.path, ()))
            self.stale_contents.update(self._writes.pop(use.path, ()))
            if use.kind == "write":
                self._writes.setdefault(use.path, []).append(said.answers)

    def is_stale(self, reading: Reading, line: int) -> bool:
        said = reading.said
        if said.role == "tool":
            return said.answers in self.stale_results
        return bool(self.stale_contents and said.calls) and reading.call_of(line) in self.stale_contents


class History:
    """Where every line and every name of the messages so far stands."""

    def __init__(self) -> None:
        self.readings: list[Reading] = []
        self.files = Files()
        self.steps: list[int] = []
        """Of each message: how many replies there had been, itself included."""
        self.tokens_before: list[int] = [0]
        """Of each message: the tokens of all before it; the last is the sum of all."""
        self.lines: dict[str, list[Place]] = {}
        self.names: dict[str, list[Place]] = {}

    @property
    def step(self) -> int:
        """The number of the reply that comes next."""
        return (self.steps[-1] if self.steps else 0) + 1

    def add(self, reading: Reading, tokens: int) -> None:
        said, at = reading.said, len(self.readings)
        self.readings.append(reading)
        self.steps.append(self.step if said.role == "assistant" else self.step - 1)
        self.tokens_before.append(self.tokens_before[-1] + tokens)
        self.files.note(said)
        for key, line in reading.keys.items():
            self.lines.setdefault(key, []).append((at, line))
        for name, numbers in reading.names.items():
            self.names.setdefault(name, []).extend((at, number) for number in numbers)

    def is_own(self, place: Place) -> bool:
        """Whether the agent itself wrote this."""
        return self.readings[place[0]].said.role == "assistant"

    def is_stale(self, place: Place) -> bool:
        return self.files.is_stale(self.readings[place[0]], place[1])

    def tokens_since(self, message: int) -> int:
        """Tokens of all that came behind a message."""
        return self.tokens_before[-1] - self.tokens_before[message + 1]

    def age(self, message: int) -> int:
        """Steps from a message to the reply that comes next."""
        return self.step - self.steps[message]
