"""The rounds of a talk, as places to go back to.

Rule: before a round means before what was said, and behind everything that came earlier, so that what was taken in
between two rounds stays.
"""

from msgspec import Struct

from holdfast.agents.commands.writing import code, table
from holdfast.agents.past_talks import first_words
from holdfast.events import Entry
from holdfast.messages import joined_text
from holdfast.session import Session
from holdfast.views import path


class Round(Struct, frozen=True):
    """A round by its number, counted from 1, and what it began with. `before` is the entry behind which the talk
    goes on without it, and `steps` how many steps were made before it."""

    number: int
    words: str
    before: str
    steps: int
    text: str


def rounds_of(session: Session) -> list[Round]:
    session.catch_up()
    transcript = session.window.transcript
    parents = {entry.id: entry.parent or "" for entry in session.log.entries()}
    found = []
    for number, position in enumerate(transcript.rounds, 1):
        item = transcript.items[position]
        steps = sum(step.position < position for step in transcript.steps)
        text = joined_text(item.message.parts)
        found.append(Round(number, first_words(text), parents[item.entry], steps, text))
    return found


def path_before(session: Session, round_: Round | None) -> list[Entry]:
    """The entries that count before a round; all that count now where none is given."""
    return path(session.log.entries(), head=round_.before if round_ else None)


def drawn(rounds: list[Round]) -> str:
    return table(["round", "it began with"], [[str(r.number), code(r.words)] for r in rounds], right=(0,))
