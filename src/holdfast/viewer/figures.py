"""What a session amounts to, for the list of sessions.

Rule: from what the log says; nothing is packed for it. A log that grew costs what is new in it.
"""

import threading

from msgspec import Struct

from holdfast.events import AssistantReplied, Entry, Folded, UsageReported
from holdfast.log import Log
from holdfast.messages import Usage, add_usage
from holdfast.models.catalogue import ModelLookup, request_cost
from holdfast.viewer.history import marks_of
from holdfast.viewer.log_follower import LogFollower


class SessionFigures(Struct, frozen=True):
    """What a session amounts to. `steps` are those of the timeline; the `requests` are more where sub-agents worked
    or branches were left. `tokens` are those of all prompts as reported; `priced` of the `requests` have a price.
    `folds` are ours, `compactions` those of the client too. `off_path` requests were made on branches that were
    left."""

    model: str
    steps: int
    requests: int
    tokens: int
    dollars: float | None
    priced: int
    cache_read_share: float | None
    folds: int
    compactions: int
    off_path: int
    last_at: float | None


class FollowedFigures:
    """The figures of a log that may grow. **Contract:** may be asked from any thread."""

    def __init__(self, log: Log, lookup: ModelLookup) -> None:
        self._follower = LogFollower(log)
        self._lookup = lookup
        self._lock = threading.Lock()
        self._reset()

    def _reset(self) -> None:
        self._steps = self._replies = self._requests = self._priced = self._folds = self._compactions = 0
        self._last_at: float | None = None
        self._usage, self._dollars = Usage(0), 0.0

    def current(self) -> SessionFigures:
        with self._lock:
            news = self._follower.read()
            if news.is_whole:
                self._reset()
            for entry in news.entries:
                self._add(entry)
            for entry in news.on_path:
                self._folds += isinstance(entry.event, Folded)
                self._compactions += sum(mark.kind == "compaction" for mark in marks_of(entry.event))
                self._steps += isinstance(entry.event, AssistantReplied)
            return self._figures()

    def _add(self, entry: Entry) -> None:
        event = entry.event
        self._last_at = self._last_at if entry.at is None else entry.at
        if isinstance(event, AssistantReplied):
            self._requests += 1
            self._replies += not entry.chain
        if not isinstance(event, AssistantReplied | UsageReported) or event.usage is None:
            return
        self._usage = add_usage(self._usage, event.usage)
        known = self._lookup(event.model)
        cost = request_cost(known, event.usage) if known else None
        self._priced += cost is not None
        self._dollars += cost or 0.0

    def _figures(self) -> SessionFigures:
        usage = self._usage
        return SessionFigures(
            model=self._follower.model,
            steps=self._steps,
            requests=self._requests,
            tokens=usage.prompt,
            dollars=self._dollars if self._priced else None,
            priced=self._priced,
            cache_read_share=usage.cache_read / usage.prompt if usage.prompt else None,
            folds=self._folds,
            compactions=self._compactions,
            # All replies of the session itself, but for those on its path.
            off_path=self._replies - self._steps,
            last_at=self._last_at,
        )
