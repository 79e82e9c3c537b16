"""What the engine knows at a request: directives, open errors, todos, decisions, files, commands, working state.

Rule: nothing is found out here. Facts are those of the rule half of a summary, from the transcript as it was at the
request, and the lines of the working state. Each names its entries, and where these are in the window.
"""

from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from holdfast.compaction.facts.extract import extract_facts
from holdfast.compaction.facts.fact import CommandFact, Fact, FileFact, LogFacts
from holdfast.compaction.forms import FORMS
from holdfast.compaction.preparation import earlier_lines
from holdfast.messages import Json
from holdfast.packing.rendering.marks import one_line
from holdfast.viewer.answers import message_text
from holdfast.viewer.history import RequestHistory
from holdfast.viewer.whereabouts import Presence, Whereabouts, WindowPlace, note_name
from holdfast.views.transcript import FrozenTranscript, Item, Step

MOST_ROWS = 200
"""Facts of a group in one answer."""

NEAREST: tuple[Presence, ...] = ("full", "shortened", "tail", "note", "summary", "gone")
"""Where a source may be, the best first."""


NOWHERE = WindowPlace("gone", -1, "not in the window")


class RememberedFact(Struct, frozen=True, gc=False):
    """A fact as it is listed. `words` are what to look for in its sources, by default its text. Where it
    `is_quoted`, they are somebody's own, and are looked for in the whole window. `step` counts from 0. `place` is
    where the fact itself is, where that does not depend on its sources."""

    text: str
    sources: tuple[str, ...]
    about: str = ""
    detail: str = ""
    words: str = ""
    step: int = -1
    is_quoted: bool = False
    place: WindowPlace | None = None


class FactGroup(Struct, frozen=True, gc=False):
    """`more` says what its title does not, such as how many todos are done."""

    name: str
    title: str
    facts: Sequence[RememberedFact]
    more: str = ""


def remembered_at(history: RequestHistory, number: int) -> Json:
    """All groups, in each the newest facts first; todos and the working state in their own order."""
    places = Whereabouts(history, number)
    transcript = places.transcript
    facts = extract_facts(transcript, known=history.known_calls)
    groups = [*_known_by_rule(facts, transcript), _working_state(history, places)]
    shown = [group.facts[:MOST_ROWS] for group in groups]
    finder = _FactFinder(places, {entry for facts in shown for fact in facts for entry in fact.sources})
    return {
        "number": number,
        "groups": [
            {
                "name": group.name,
                "title": group.title,
                "more": group.more,
                "total": len(group.facts),
                "rows": [finder.row(fact) for fact in facts],
            }
            for group, facts in zip(groups, shown, strict=True)
        ],
    }


def _known_by_rule(facts: LogFacts, transcript: FrozenTranscript) -> Iterator[FactGroup]:
    directives = [
        *(_quoted(fact, fact.text) for fact in reversed(facts.directives)),
        *(_quoted(fact, fact.text, "taken back") for fact in reversed(facts.withdrawn)),
    ]
    yield FactGroup("directives", "Directives of the user", directives)
    errors = [RememberedFact(fact.text, fact.sources, step=fact.step) for fact in reversed(facts.errors)]
    yield FactGroup("errors", "Open errors", errors)
    todos = [
        _quoted(fact, text, status) for fact in facts.todos for status, _, text in [fact.text.partition(": ")]
    ]
    done, total = transcript.todos.done, len(transcript.todos.items)
    yield FactGroup("todos", "Open todos", todos, f"{done} of {total} done" if total else "")
    decisions = [_quoted(fact, fact.text) for fact in reversed(facts.decisions)]
    yield FactGroup("decisions", "Decisions", decisions)
    yield FactGroup("files", "Files touched", [*map(_file, reversed(facts.files))])
    tests = f"the last test run {'passed' if facts.tests.is_passed else 'failed'}" if facts.tests else ""
    commands = [_command(fact, transcript) for fact in reversed(facts.commands)]
    yield FactGroup("commands", "Commands", commands, tests)


def _quoted(fact: Fact, text: str, about: str = "") -> RememberedFact:
    # A decision says first whose it is.
    words = text.removeprefix("user: ")
    return RememberedFact(text, fact.sources, about, words=words, step=fact.step, is_quoted=True)


def _file(fact: FileFact) -> RememberedFact:
    lines = f"lines {fact.ranges.replace(',', ', ')} were read" if fact.ranges else ""
    return RememberedFact(fact.path, fact.sources, fact.action, lines, step=fact.step)


def _command(fact: CommandFact, transcript: FrozenTranscript) -> RememberedFact:
    ended = "failed" if fact.is_failed else ""
    about = ended if fact.exit_code is None else f"exit code {fact.exit_code}"
    sources = (transcript.steps[fact.step].entry, *fact.sources)
    return RememberedFact(fact.command, sources, about, fact.outcome, fact.outcome or fact.command, fact.step)


def _working_state(history: RequestHistory, places: Whereabouts) -> FactGroup:
    """The lines of a summary's working state under the names of its fields, such as the left-off point."""
    state = places.transcript.compactions.state
    said = earlier_lines(FORMS[history.profile.summary_form], [state]).fields if state else {}
    if state and not any(said.values()):
        # It is in the form of another profile.
        said = {"": state.lines}
    is_sent = places.summary >= 0 and history.basis != "list"
    place = WindowPlace("summary", places.summary, "in the summary") if is_sent else NOWHERE
    facts = [
        RememberedFact(
            line.text, line.sources, name, "written by a model" if line.by == "model" else "", place=place
        )
        for name, lines in said.items()
        for line in lines
    ]
    return FactGroup("state", "Working state of the summary", facts)


class _FactFinder:
    """Where facts are in the window of one request, by the entries that they come from."""

    def __init__(self, places: Whereabouts, sources: Collection[str]) -> None:
        self._places = places
        self._origins: dict[str, tuple[Item, str]] = {}
        for item in places.transcript.items:
            if item.entry in sources:
                self._origins[item.entry] = item, ""
            if isinstance(item, Step):
                for id_, entry in item.result_entries.items():
                    if entry in sources:
                        self._origins[entry] = item, id_
        self._texts: dict[int, str] = {}

    def row(self, fact: RememberedFact) -> Json:
        sources = [(entry, self._label(entry), self._place(entry)) for entry in fact.sources]
        # Of equal ones the newest.
        entry, _, place = min(reversed(sources), key=_distance, default=("", "", NOWHERE))
        if fact.place is not None:
            place = fact.place
        elif fact.is_quoted and place.presence != "full":
            place = self._with_words(place, one_line(fact.words)) or place
        return {
            "about": fact.about,
            "text": fact.text,
            "detail": fact.detail,
            "words": (fact.words or fact.text).removesuffix("…"),
            "step": fact.step + 1,
            "entry": entry,
            **_told(place),
            "sources": [{"entry": entry, "label": label, **_told(place)} for entry, label, place in sources],
        }

    def _label(self, entry: str) -> str:
        item, call_id = self._origins.get(entry, (None, ""))
        if not isinstance(item, Step):
            return "user message" if item else "entry"
        name = f"step {item.number + 1}"
        return f"{name}, result of {item.calls[call_id].name}" if call_id else name

    def _place(self, entry: str) -> WindowPlace:
        if entry not in self._origins:
            return WindowPlace("gone", -1, "in the log alone")
        return self._places.of(*self._origins[entry])

    def _with_words(self, place: WindowPlace, words: str) -> WindowPlace | None:
        """The place if it has the words, else another where they are: a note, a summary or the tail."""
        if place.at >= 0 and words in self._text(place.at):
            return WindowPlace(place.presence, place.at, f"{place.words}, word for word")
        for at, block in enumerate(self._places.blocks):
            if block.kind in ("note", "summary", "tail") and words in self._text(at):
                name = (
                    note_name(self._places.transcript, block) if block.kind == "note" else f"the {block.kind}"
                )
                return WindowPlace(block.kind, at, f"in {name}, word for word")
        return None

    def _text(self, at: int) -> str:
        if at not in self._texts:
            self._texts[at] = one_line(message_text(self._places.blocks[at].message))
        return self._texts[at]


def _distance(source: tuple[str, str, WindowPlace]) -> int:
    return NEAREST.index(source[2].presence)


def _told(place: WindowPlace) -> dict[str, Json]:
    return {"presence": place.presence, "where": place.words, "block": place.at}
