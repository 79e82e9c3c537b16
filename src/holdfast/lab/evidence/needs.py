"""Needs: pieces of earlier text that an action used, found in the values of its arguments; and a whole recording
studied for them.

Rule: a need exists only if everything that happened, sent whole, would support it; so *everything* scores 1.00.
The numbers in the definition of a need are in `Measure` alone, and `--sensitivity` varies them there. No policy
is involved; all policies and budgets are judged by the same study. Probes are what an agent should know at every
request, whether or not its next action shows it. They are counted apart and never added to recall.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Literal

from msgspec import Struct

from holdfast.lab.case import ReplayCase
from holdfast.lab.evidence.indexed_message import IndexedMessage, argument_values, has_letters, names_in
from holdfast.lab.policy import LaterUse
from holdfast.lab.scored_message import MessageCounter, ScoredMessage, read_message
from holdfast.messages import ToolCall
from holdfast.tool_use import ToolUse, recognize_tool


class Measure(Struct, frozen=True):
    line_length: int = 16
    """Characters of a line that can be a need."""
    name_length: int = 6
    """Characters of a name that can be a need."""
    common_projects: int = 2
    """A name in more projects than this, of those it was calibrated on, is nobody's evidence ..."""
    common_share: float = 0.03
    """... or in more than this share of them, whichever is more."""
    overlap: float = 0.5
    """Share of the other names, and of the other words, of its source line that must be with a name."""
    hard_steps: int = 5
    """A hard need was last seen more steps ago than this ..."""
    hard_share: float = 0.5
    """... and outside the newest part of the budget, this large."""


DEFAULT_MEASURE = Measure()


LinePlace = tuple[int, int]
"""A message and a line of it."""

FAILED = ("error", "<tool_use_error", "failed", "traceback", "no changes", "string to replace not found")
"""How the results of edits that changed nothing begin: recordings in OpenAI's shape mark them in no other way."""


class FileCopies(Struct):
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

    def note(self, scored: ScoredMessage) -> None:
        if scored.role == "assistant":
            for call in scored.calls:
                arguments = dict(argument_values(call.arguments))
                self.uses[call.id] = recognize_tool(ToolCall(call.id, call.name, arguments))
        use = self.uses.get(scored.answers) if scored.role == "tool" else None
        if use is None:
            return
        if use.kind == "read" and use.path and not use.is_mixed:
            self._reads.setdefault(use.path, []).append(scored.answers)
        failed = scored.text.lstrip().lower().startswith(FAILED)
        for path in use.changed if not failed else ():
            self.stale_results.update(self._reads.pop(path, ()))
            self.stale_contents.update(self._writes.pop(path, ()))
        if use.kind == "write" and use.path and not failed:
            self._writes.setdefault(use.path, []).append(scored.answers)

    def is_stale(self, message: IndexedMessage, line: int) -> bool:
        scored = message.scored
        if scored.role == "tool":
            return scored.answers in self.stale_results
        return bool(self.stale_contents and scored.calls) and message.call_of(line) in self.stale_contents


NeedKind = Literal["line", "name", "state"]

MOST_SOURCES = 16
"""Lines, newest first, that a name may be supported by: a name in hundreds of lines is found by these or not."""


class Need(Struct, frozen=True, gc=False):
    """`text` is a whole line or a name; `sources` are the lines it can have come from, the newest first."""

    kind: NeedKind
    text: str
    is_line: bool
    sources: tuple[LinePlace, ...]
    seen: int
    """The message in which it was last seen, in whatever form."""
    age: int
    """Steps since then."""
    distance: int
    """Tokens since then."""

    def is_hard(self, measure: Measure, budget: int) -> bool:
        return self.age > measure.hard_steps and self.distance > measure.hard_share * budget


class EvidenceHistory:
    """Where every line and every name of the messages so far is. It only grows, message by message."""

    def __init__(self) -> None:
        self.messages: list[IndexedMessage] = []
        self.files = FileCopies()
        self.steps: list[int] = []
        """Of each message: how many replies there had been, itself included."""
        self.tokens_before: list[int] = [0]
        """Of each message: the tokens of all before it; the last is the sum of all."""
        self.lines: dict[str, list[LinePlace]] = {}
        self.names: dict[str, list[LinePlace]] = {}

    @property
    def step(self) -> int:
        """The number of the reply that comes next."""
        return (self.steps[-1] if self.steps else 0) + 1

    def add(self, message: IndexedMessage, tokens: int) -> None:
        scored, at = message.scored, len(self.messages)
        self.messages.append(message)
        self.steps.append(self.step if scored.role == "assistant" else self.step - 1)
        self.tokens_before.append(self.tokens_before[-1] + tokens)
        self.files.note(scored)
        for key, line in message.keys.items():
            self.lines.setdefault(key, []).append((at, line))
        for name, numbers in message.names.items():
            self.names.setdefault(name, []).extend((at, number) for number in numbers)

    def is_own(self, place: LinePlace) -> bool:
        return self.messages[place[0]].scored.role == "assistant"

    def is_stale(self, place: LinePlace) -> bool:
        return self.files.is_stale(self.messages[place[0]], place[1])

    def need(self, kind: NeedKind, text: str, is_line: bool, sources: tuple[LinePlace, ...]) -> Need:
        """A need of the reply that comes next."""
        seen = (self.lines if is_line else self.names)[text][-1][0]
        distance = self.tokens_before[-1] - self.tokens_before[seen + 1]
        return Need(kind, text, is_line, sources, seen, self.step - self.steps[seen], distance)


class KnownText(Struct, frozen=True):
    """What is never a need: lines and names of the system prompt and the tools, and common names."""

    lines: frozenset[str]
    names: frozenset[str]
    is_common: Callable[[str], bool]


def known_from(stable: Iterable[str], is_common: Callable[[str], bool]) -> KnownText:
    messages = [IndexedMessage(ScoredMessage("system", text)) for text in stable]
    lines = frozenset(key for message in messages for key in message.keys)
    return KnownText(lines, frozenset(name for message in messages for name in message.names), is_common)


def find_needs(
    action: ScoredMessage, history: EvidenceHistory, known: KnownText, measure: Measure
) -> list[Need]:
    """The needs of an action, one for each source line."""
    by_source: dict[LinePlace, Need] = {}
    for call in action.calls:
        for _, value in argument_values(call.arguments):
            for line in dict.fromkeys(value.split("\n")):
                for need in _needs_of_line(line.strip(), history, known, measure):
                    # A line counts for the names in it; of several names the one longest unseen.
                    other = by_source.setdefault(need.sources[0], need)
                    if (need.is_line, -need.seen) > (other.is_line, -other.seen):
                        by_source[need.sources[0]] = need
    return list(by_source.values())


def _needs_of_line(line: str, history: EvidenceHistory, known: KnownText, measure: Measure) -> Iterable[Need]:
    # Letters, and more than one token: a lone path or hash is a name, and must earn its credit as one.
    is_phrase = has_letters(line) and len(line.split(None, 1)) > 1
    if len(line) >= measure.line_length and is_phrase and line not in known.lines:
        places = history.lines.get(line, [])
        sources = _sources(places, history)
        if sources:
            own = all(history.is_own(place) for place in places)
            yield history.need("state" if own else "line", line, True, sources)
            return
    taken: list[str] = []
    for name in sorted(names_in(line), key=lambda name: (-len(name), name)):
        if len(name) < measure.name_length or name in known.names or known.is_common(name):
            continue
        if any(name in longer for longer in taken):
            continue
        need = _need_of_name(name, history)
        if need:
            taken.append(name)
            yield need


def _need_of_name(name: str, history: EvidenceHistory) -> Need | None:
    places = history.names.get(name)
    if not places:
        return None
    own = history.is_own(places[0])
    # What a result or the user introduced is supported by lines of theirs; the agent's own echo is no source.
    sources = _sources([place for place in places if own or not history.is_own(place)], history)
    return history.need("state" if own else "name", name, False, sources) if sources else None


def _sources(places: Sequence[LinePlace], history: EvidenceHistory) -> tuple[LinePlace, ...]:
    """Those that still hold, the newest first."""
    return tuple(islice((place for place in reversed(places) if not history.is_stale(place)), MOST_SOURCES))


PROBE_INTERVAL = 5
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
        """What should be in a pack made now, by kind of probe."""
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


FindCommonNames = Callable[[Measure, str], Callable[[str], bool]]
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
    case: ReplayCase, counter: MessageCounter, measures: Sequence[Measure], common: FindCommonNames
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
            due = probes.due(history) if len(requests) % PROBE_INTERVAL == PROBE_INTERVAL - 1 else {}
            requests.append(StudiedRequest(turn.index, len(history.messages), newest, needs, due))
        if turn.at is not None:
            newest = turn.at if newest is None else max(newest, turn.at)
        if turn.message is not None:
            message = IndexedMessage(scored)
            history.add(message, counter.message(scored))
            probes.add(message, history)
    return Study(case, history.messages, requests, tuple(measures))


DECAY_PER_STEP = 0.98
"""Use counts this much less with every step that it comes later: by then another fold will have chosen again."""


def later_use(study: Study, number: int) -> tuple[LaterUse, LaterUse]:
    """The lines and the names that were out of sight for a while and that the action of a request, or one after
    it, uses."""
    lines: dict[str, float] = {}
    names: dict[str, float] = {}
    share = 1.0
    for request in study.requests[number:]:
        needs = [need for need in request.needs[0] if need.age > DEFAULT_MEASURE.hard_steps]
        for need in needs:
            found = lines if need.is_line else names
            found[need.text] = found.get(need.text, 0.0) + share / len(needs)
        share *= DECAY_PER_STEP
    return lines, names
