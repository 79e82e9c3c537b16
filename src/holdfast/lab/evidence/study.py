"""Probes: what an agent should know at every request, whether or not its next action shows it.

Rule: they are counted apart and never added to recall. They look for whole lines, so that what a policy wrote in
its own words is not seen: directives of the user, the state of the tests, commands that failed and still do.
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
LONGEST_TALK = 4_000
"""Characters of a user message that is still talk and not a document."""

_DIRECTIVE = re.compile(
    r"(?i)\b(?:never|always|must(?:n't| not)?|do not|don't|make sure|avoid|only ever)\b|不要|必须|禁止|总是|务必"
)
_TESTED = re.compile(
    r"\b\d+ (?:passed|failed|passing|failing|failures?)\b|^(?:ok|FAIL|PASS|--- FAIL)\b|^test result:|^Tests?:\s"
    r"|\bBUILD (?:SUCCESS|FAILURE|SUCCESSFUL|FAILED)\b"
)
_FAILED = re.compile(r"(?i)^(?:\w*error\b|exit code [1-9]|fatal:|traceback|panic:|command failed)")


class Probes(Struct):
    """What is to be known, kept current message by message. Lines are kept by their key."""

    directives: list[str] = []
    tested: str = ""
    failures: dict[str, str] = {}
    """The line that says so, by command."""

    def add(self, reading: IndexedMessage, history: EvidenceHistory) -> None:
        said = reading.said
        if said.role == "user" and len(said.text) <= LONGEST_TALK:
            self.directives += [line for line in _lines(reading) if _DIRECTIVE.search(line)]
            self.directives = list(dict.fromkeys(self.directives))[-MOST_DIRECTIVES:]
        elif said.role == "tool":
            use = history.files.uses.get(said.answers)
            if use is not None and use.kind == "bash":
                self._note_command(" ".join(use.command.split()), _lines(reading))

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
        return {kind: [_need(line, history) for line in lines] for kind, lines in wanted.items() if lines}


def _lines(reading: IndexedMessage) -> list[str]:
    """Lines of text that say something, as they are known."""
    return [line.strip() for line in reading.lines[: reading.arguments_from] if len(line.strip()) >= 12]


def _need(line: str, history: EvidenceHistory) -> Need:
    places = history.lines[line]
    seen = places[-1][0]
    return Need("line", line, True, (places[-1],), seen, history.age(seen), history.tokens_since(seen))


# A recording studied for evidence: every message read and counted, and the needs of every action.
#
# Rule: no policy is involved; all policies and budgets are judged by the same study.

Common = Callable[[Measure, str], Callable[[str], bool]]
"""From a measure and a project to what says whether a name is common."""


class StudiedRequest(Struct, frozen=True):
    """A request: the messages before it are `readings[:before]`; `needs` are those of its reply, by measure.

    `probes` are what every reply should know, looked for now and then.
    """

    index: int
    before: int
    at: float | None
    needs: tuple[list[Need], ...]
    probes: dict[str, list[Need]]


class Study(Struct, frozen=True):
    case: ReplayCase
    readings: list[IndexedMessage]
    requests: list[StudiedRequest]
    measures: tuple[Measure, ...]


def study_evidence(
    case: ReplayCase, scale: MessageCounter, measures: Sequence[Measure], common: Common
) -> Study:
    history, probes = EvidenceHistory(), Probes()
    known = [known_from(case.stable, common(measure, case.project)) for measure in measures]
    requests: list[StudiedRequest] = []
    newest: float | None = None
    for turn in case.turns:
        said = ScoredMessage("assistant", "") if turn.message is None else read_message(turn.message)
        if turn.is_reply:
            needs = tuple(
                find_needs(said, history, known[i], measure) if said.calls else []
                for i, measure in enumerate(measures)
            )
            due = probes.due(history) if len(requests) % EVERY == EVERY - 1 else {}
            requests.append(StudiedRequest(turn.index, len(history.readings), newest, needs, due))
        if turn.at is not None:
            newest = turn.at if newest is None else max(newest, turn.at)
        if turn.message is not None:
            reading = IndexedMessage(said)
            history.add(reading, scale.said(said))
            probes.add(reading, history)
    return Study(case, history.readings, requests, tuple(measures))
