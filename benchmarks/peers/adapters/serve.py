"""The loop of an adapter: one JSON object a line in, one out.

Rule: every line in gets exactly one line out, and nothing else reaches standard output, whatever a library prints.
"""

import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TextIO

Message = dict[str, Any]
"""OpenAI's chat shape, with a call as `{"id", "name", "arguments"}` and `arguments` an object."""


class Bill(NamedTuple):
    """One call of a model that the library made, in tokens."""

    prompt: int
    completion: int


class Answer(NamedTuple):
    messages: list[Message]
    calls: tuple[Bill, ...] = ()


class Packer(Protocol):
    """A library at work on one recording. `about` names its version and every setting that matters.

    Contract: `new` holds the messages since the last call, in order; the packer remembers what it has to.
    """

    about: str

    def pack(self, new: list[Message], at: float | None) -> Answer: ...


Start = Callable[[str, int], Packer]
"""Makes the packer of a variant for a budget in tokens; raises `ValueError` for a variant it does not know."""


def serve(start: Start) -> None:
    """Answers requests until standard input ends."""
    replies = _take_stdout()
    packer: Packer | None = None
    for line in sys.stdin.buffer:
        # The boundary to somebody else's code: whatever it raises becomes this step's answer.
        try:
            request = json.loads(line)
            if request["do"] == "start":
                packer = start(request["variant"], request["budget"])
                reply: dict[str, Any] = {"about": packer.about}
            else:
                assert packer is not None, "`pack` came before `start`"
                reply = _packed(packer.pack(request["new"], request["at"]))
            text = json.dumps(reply)
        except Exception as error:
            traceback.print_exc()
            text = json.dumps({"error": _one_line(error)})
        replies.write(text + "\n")
        replies.flush()


def _packed(answer: Answer) -> dict[str, Any]:
    return {"messages": answer.messages, "calls": [bill._asdict() for bill in answer.calls]}


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]


def _take_stdout() -> TextIO:
    """The real standard output, for replies alone; prints, also those of C code, go to standard error instead."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return replies
