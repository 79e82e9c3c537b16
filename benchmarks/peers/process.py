"""A policy that lives in a process of its own: JSON lines to it, JSON lines back.

Rule: whatever the process does (dies, hangs, prints, answers nonsense) ends as one `PeerError` for that request.
"""

from collections.abc import Sequence
from typing import Any
from weakref import finalize

from holdfast.lab.policy import ModelCall, PolicyReply, Task
from holdfast.wire.content_blocks import WireDict
from peers.adapter import Adapter, PeerError, release, take

TIMEOUT = 300.0
"""Seconds for one answer, the start of the interpreter included."""
LIVES = 3
"""A process that died starts again with the whole history; a policy whose process dies this often is given up."""


class ProcessPolicy:
    """A variant of a peer at one recording. The process starts with the first request, if not before.

    Where `reuse` is true, a process that is done with a recording serves the next one.
    """

    def __init__(
        self,
        task: Task,
        command: Sequence[str],
        variant: str,
        *,
        timeout: float = TIMEOUT,
        reuse: bool = False,
    ) -> None:
        self.about = ""
        """What the peer says of itself, once it has started."""
        self._opening = {"do": "start", "variant": variant, "budget": task.budget}
        self._command = tuple(command)
        self._timeout = timeout
        self._reuse = reuse
        self._adapter: Adapter | None = None
        self._release: finalize[..., Any] | None = None
        self._lives = LIVES
        self._last_failure = ""
        self._sent = 0

    def start(self) -> None:
        """Start the process now, if it does not run: what that takes is not the time of a request."""
        if self._adapter is not None:
            return
        if not self._lives:
            raise PeerError(self._last_failure)
        self._adapter = take(self._command, self._timeout)
        self._release = finalize(self, release, self._adapter, self._reuse)
        self._sent = 0
        answer = self._ask(self._opening)
        if "error" in answer:
            # Without a start there is nothing to ask, and the next one would fail alike.
            self._lives = 0
            self._last_failure = f"the peer does not start: {answer['error']}"
            self.close()
            raise PeerError(self._last_failure)
        self.about = str(answer.get("about", ""))

    def pack(self, messages: Sequence[WireDict], at: float | None) -> PolicyReply:
        self.start()
        answer = self._ask({"do": "pack", "new": list(messages[self._sent :]), "at": at})
        self._sent = len(messages)
        if "error" in answer:
            raise PeerError(str(answer["error"]))
        if not isinstance(answer.get("messages"), list):
            raise PeerError("the peer answered without messages")
        calls = tuple(ModelCall(call["prompt"], call["completion"]) for call in answer.get("calls", ()))
        return PolicyReply(answer["messages"], calls)

    def close(self) -> None:
        if self._release is not None:
            self._release()
        self._adapter = self._release = None

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._adapter is not None
        try:
            return self._adapter.ask(request)
        except PeerError as error:
            self._lives -= 1
            self._last_failure = f"{error.message} (given up after {LIVES} times)"
            self.close()
            raise
