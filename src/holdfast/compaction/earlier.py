"""What summaries said before, read back into the fields of their form.

Rule: a line keeps the sources it had, and stays known as the rule half's or a model's.
"""

from collections.abc import Mapping, Sequence

from holdfast.compaction.facts.values import Fact
from holdfast.compaction.forms.content import Content, Field, Line
from holdfast.compaction.forms.form import Form
from holdfast.events import Compacted, SummaryLine


def lines_of(form: Form, entries: Sequence[Compacted]) -> Content:
    """What the entries say, field by field and each line once."""
    known = {line.text: line for entry in entries for line in entry.lines}
    said: dict[str, dict[str, Line]] = {}
    for entry in entries:
        content, _ = form.parse(entry.text)
        for field in form.fields:
            lines = said.setdefault(field.name, {})
            for line in content.fields.get(field.name, ()):
                for text in _apart(line.text, field, known):
                    before = known.get(text)
                    lines.setdefault(
                        text, Line(text, before.sources, before.by) if before else Line(text, by="model")
                    )
    return Content({name: tuple(lines.values()) for name, lines in said.items()})


def _apart(text: str, field: Field, known: Mapping[str, SummaryLine]) -> list[str]:
    """The lines that a field of one text put together, where they are known."""
    pieces = text.split(field.separator) if field.kind == "text" and text not in known else [text]
    return [piece for piece in pieces if piece.strip()] if any(piece in known for piece in pieces) else [text]


def written_by_model(form: Form, entry: Compacted) -> dict[str, tuple[Fact, ...]]:
    """What of a summary only its writer knew: the rule half finds its own again."""
    return {
        name: tuple(Fact(line.text, line.sources) for line in lines if line.by == "model")
        for name, lines in lines_of(form, [entry]).fields.items()
        if any(line.by == "model" for line in lines)
    }
