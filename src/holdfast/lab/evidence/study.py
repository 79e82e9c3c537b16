"""A recording studied for evidence: every message indexed and counted, the needs of every action, and probes.

Rule: no policy is involved; all policies and budgets are judged by the same study. Probes are what an agent
should know at every request, whether or not its next action shows it. They are counted apart and never added to
recall.
"""

import re
from collections.abc import Callable, Sequence

from msgspec import Struct

from holdfast.lab.case import ReplayCase
from holdfast.lab.evidence.indexed_message import IndexedMessage
from holdfast.lab.evidence.needs import EvidenceHistory, Measure, Need, find_needs, known_from
from holdfast.lab.scored_message import MessageCounter, ScoredMessage, read_message

EVERY = 5
"""Requests from one probing to the next."""
MOST_DIRECTIVES = 40
MOST_FAILURES = 3
LONGEST_CHAT = 4_000
"""Characters of a user message up to which it is chat and not a document."""

_DIRECTIVE = re.compile(
    r"(?i)\b(?:never|always|must(?:n't| not)?|do not|don't|make sure|avoid|only ever)\b|不要|必须|禁止|总是|务必"
)
_TESTED = re.compile(
    r"\b\d+ (?:passed|failed|passing|failing|failures?)\b|^(?:ok|FAIL|PASS|--- FAIL)\b|^test result:|^Tests?:\s"
    r"|\bBUILD (?:SUCCESS|FAILURE|SUCCESSFUL|FAILED)\b"
)
_FAILED = re.compile(r"(?i)^(?:\w*error\b|exit code [1-9]|fatal:|traceback|panic:|command failed)")


class Probes(Struct):
    """Directives of the user, the state of the tests, and commands that failed and still do, message by message.

    They are whole lines: what a policy wrote in its own words is not seen.
    """

    directives: list[str] = []
    tested: str = ""
    failures: dict[str, str] = {}
    """The line that says so, by command."""

    def add(self, message: IndexedMessage, history: EvidenceHistory) -> None:
        scored = message.scored
        if scored.role == "user" and len(scored.text) <= LONGEST_CHAT:
            self.directives += [line for line in _lines(message) if _DIRECTIVE.search(line)]
            self.directives = list(dict.fromkeys(self.directives))[-MOST_DIRECTIVES:]
        elif scored.role == "tool":
            use = history.files.uses.get(scored.answers)
            if use is not None and use.kind == "bash":
                self._note_command(" ".join(use.command.split()), _lines(message))

    def _note_command(self, command: str, lines: list[str]) -> None:
        self.tested = next((line for line in reversed(lines) if _TESTED.search(line)), self.tested)
        failed = next((line for line in lines if _FAILED.search(line)), None)
        self.failures.pop(command, None)
        if failed is not None:
            self.failures[command] = failed
            while len(self.failures) > MOST_FAILURES:
                self.failures.pop(next(iter(self.failures)))

    def due(self, history: EvidenceHistory) -> dict[str, list[Need]]:
        """What should stand in a pack made now, by kind of probe."""
        wanted = {
            "directives": self.directives,
            "tests": [self.tested] if self.tested else [],
            "failures": list(dict.fromkeys(self.failures.values())),
        }
        return {
            kind: [history.need("line", line, True, (history.lines[line][-1],)) for line in lines]
            for kind, lines in wanted.items()
            if lines
        }


def _lines(message: IndexedMessage) -> list[str]:
    """Lines of text that say something, as they are known."""
    return [line.strip() for line in message.lines[: message.arguments_from] if len(line.strip()) >= 12]


Common = Callable[[Measure, str], Callable[[str], bool]]
"""From a measure and a project to what says whether a name is common."""


class StudiedRequest(Struct, frozen=True):
    """A request: the messages before it are `messages[:before]`; `needs` are those of its reply, by measure.

    `probes` are what every reply should know, looked for now and then.
    """

    index: int
    before: int
    at: float | None
    needs: tuple[list[Need], ...]
    probes: dict[str, list[Need]]


class Study(Struct, frozen=True):
    case: ReplayCase
    messages: list[IndexedMessage]
    requests: list[StudiedRequest]
    measures: tuple[Measure, ...]


def study_evidence(
    case: ReplayCase, counter: MessageCounter, measures: Sequence[Measure], common: Common
) -> Study:
    history, probes = EvidenceHistory(), Probes()
    known = [known_from(case.stable, common(measure, case.project)) for measure in measures]
    requests: list[StudiedRequest] = []
    newest: float | None = None
    for turn in case.turns:
        scored = ScoredMessage("assistant", "") if turn.message is None else read_message(turn.message)
        if turn.is_reply:
            needs = tuple(
                find_needs(scored, history, known[i], measure) if scored.calls else []
                for i, measure in enumerate(measures)
            )
            due = probes.due(history) if len(requests) % EVERY == EVERY - 1 else {}
            requests.append(StudiedRequest(turn.index, len(history.messages), newest, needs, due))
        if turn.at is not None:
            newest = turn.at if newest is None else max(newest, turn.at)
        if turn.message is not None:
            message = IndexedMessage(scored)
            history.add(message, counter.message(scored))
            probes.add(message, history)
    return Study(case, history.messages, requests, tuple(measures))
