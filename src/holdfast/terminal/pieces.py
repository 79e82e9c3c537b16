"""From the log and from results to what the screen shows.

Rule: a talk that is opened again looks as it did; what was never finished is marked, not hidden.
"""

from collections.abc import Iterable, Sequence

from holdfast.agents.results import is_uncertain
from holdfast.events import (
    AssistantReplied,
    Compacted,
    CompactionFailed,
    Entry,
    Folded,
    ToolReturned,
    UserSaid,
)
from holdfast.messages import Text, Thinking, ToolCall, joined_text
from holdfast.terminal.cards import about_call
from holdfast.terminal.plain import one_line
from holdfast.terminal.status_line import tokens_said
from holdfast.terminal.values import Answer, Card, Note, Piece, Said, State, Thought
from holdfast.tools.envelope import ToolResult

DENIED = ("ACCESS_DENIED", "The user denied")


def finished(card: Card, result: ToolResult, seconds: float) -> None:
    """A card with what came of its call."""
    card.state = _state(result.envelope.text, is_error=result.is_error)
    card.shown, card.full = result.shown, joined_text(result.parts)
    card.seconds = seconds


def fold_note(fold: Folded) -> Note:
    before, after = tokens_said(fold.tokens_before), tokens_said(fold.tokens_after)
    why = fold.why or fold.reason
    return Note(
        f"folded {before} → {after} tokens: {why}. All of it stays in the log, and Recall brings it back."
    )


def summary_note(notes: Sequence[str]) -> Note:
    return Note(" ".join(["earlier work was summed up.", *notes]))


def earlier_pieces(entries: Iterable[Entry]) -> list[Piece]:
    """The pieces of a talk, from the entries on its path."""
    pieces: list[Piece] = []
    open_cards: dict[str, list[Card]] = {}
    for entry in entries:
        match entry.event:
            case UserSaid(parts=parts, origin="person" | "agent"):
                pieces.append(Said(joined_text(parts)))
            case AssistantReplied():
                pieces += _replied(entry.event, open_cards)
            case ToolReturned(call_id=id_) if open_cards.get(id_):
                _answered(open_cards[id_].pop(0), entry.event)
            case Folded() if entry.event.tokens_before:
                pieces.append(fold_note(entry.event))
            case Compacted(slot="state"):
                pieces.append(summary_note(()))
            case CompactionFailed(why=why):
                pieces.append(Note(f"no summary was written: {why}", "warning"))
    return pieces


def _replied(event: AssistantReplied, open_cards: dict[str, list[Card]]) -> Iterable[Piece]:
    for part in event.parts:
        match part:
            case Text(text=text) if text.strip():
                yield Answer(text.strip("\n"), is_whole=True)
            case Thinking(text=text) if text.strip():
                yield Thought(text, is_whole=True)
            case ToolCall():
                # Uncertain until its result is found further on.
                card = Card(one_line(part.name), about_call(part.arguments), "uncertain")
                open_cards.setdefault(part.id, []).append(card)
                yield card


def _answered(card: Card, event: ToolReturned) -> None:
    card.full = joined_text(event.parts)
    card.shown = event.shown or card.full
    card.state = _state(card.full, is_error=event.error)


def _state(text: str, *, is_error: bool) -> State:
    if not is_error:
        return "done"
    if is_uncertain(text):
        return "uncertain"
    return "refused" if text.startswith(DENIED) else "failed"
