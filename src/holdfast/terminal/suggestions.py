"""The list of what could be meant, above the prompt.

Rule: it shows and remembers a place in a list; what is chosen is the prompt's business.
"""

from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content

from holdfast.terminal.completion import Candidate
from holdfast.terminal.laid import Laid
from holdfast.terminal.plain import fitted, one_line


class Suggestions(Laid):
    def __init__(self) -> None:
        super().__init__(id="suggestions")
        self.display = False
        self._candidates: Sequence[Candidate] = ()
        self._place = 0

    @property
    def chosen(self) -> Candidate | None:
        return self._candidates[self._place] if self._candidates else None

    def offer(self, candidates: Sequence[Candidate]) -> None:
        if candidates != self._candidates:
            self._candidates = candidates
            self._place = 0
            self.display = bool(candidates)
            self.changed()

    def move(self, by: int) -> None:
        self._place = (self._place + by) % max(1, len(self._candidates))
        self.changed()

    def content_at(self, width: int) -> Content:
        texts = [one_line(one.text) for one in self._candidates]
        column = min(max(map(cell_len, texts), default=0), width - 2)
        lines = []
        for n, (text, one) in enumerate(zip(texts, self._candidates, strict=True)):
            pad = " " * (column - cell_len(text) + 2)
            room = width - column - 6
            about = fitted(one_line(one.about), room) if one.about and room > 10 else ""
            sign, style = ("› ", "reverse") if n == self._place else ("  ", "")
            lines.append(Content.assemble(sign, (fitted(text, width - 2), style), pad, (about, "dim")))
        return Content("\n").join(lines)
