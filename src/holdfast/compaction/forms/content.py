"""What a summary says, whatever its form: lines under the names of a form's fields, each with its sources.

Rule: a line states one thing; `by` says whether the rule half or a model wrote it.
"""

from typing import Literal

from msgspec import Struct

By = Literal["rule", "model"]


class Line(Struct, frozen=True):
    text: str
    sources: tuple[str, ...] = ()
    by: By = "rule"
    is_settled: bool = False
    """Whether it was told in so many words: no model knows better."""


class Content(Struct, frozen=True):
    """Lines by field, in the order of the form's fields; a field that says nothing has no lines."""

    fields: dict[str, tuple[Line, ...]]

    def lines(self) -> tuple[Line, ...]:
        return tuple(line for lines in self.fields.values() for line in lines)


class Field(Struct, frozen=True, kw_only=True):
    """A place of a form. `name` is what the form calls it; in JSON forms the path of keys, joined by a dot.

    `most_lines` and `most_chars` are limits of the rendered field, 0 where there is none.
    """

    name: str
    about: str
    """What belongs there, as the model is told."""
    kind: Literal["line", "list", "text", "number"] = "list"
    is_required: bool = True
    most_lines: int = 0
    most_chars: int = 0
    separator: str = "; "
    """What stands between its lines where they share one."""
    aliases: tuple[str, ...] = ()
    """Other names by which a model may call it."""
    lasts: bool = False
    """Whether what a summary said here goes on to hold in the next one; else only where that has nothing to say."""
    weight: int = 1
    """How much it matters when a summary must shrink; the lightest goes first."""


class Problem(Struct, frozen=True):
    """Something of a text that its form does not have, in a sentence."""

    field: str
    what: str
