"""The line at the bottom as a widget.

Rule: words are `status_line`'s; here they get their colours, which only repeat what the words say.
"""

from textual.content import Content

from holdfast.terminal.laid import Laid
from holdfast.terminal.status_line import BETWEEN, status_parts
from holdfast.terminal.values import Figures

MODES = ("plan", "ask", "edit", "auto")
_STYLES = {"plan": "$primary", "ask": "", "edit": "$warning", "auto": "bold $error"}


class Status(Laid):
    def __init__(self, figures: Figures) -> None:
        super().__init__(id="status")
        self.figures = figures

    def show(self, figures: Figures) -> None:
        if figures != self.figures:
            self.figures = figures
            self.changed()

    def content_at(self, width: int) -> Content:
        return status_content(self.figures, width)


def status_content(figures: Figures, width: int) -> Content:
    parts = status_parts(figures, width)
    return Content(BETWEEN).join(_styled(name, text, figures) for name, text in parts)


def _styled(name: str, text: str, figures: Figures) -> Content:
    if name == "mode":
        return Content.styled(text, _STYLES.get(figures.mode, ""))
    if name == "context" and figures.trigger and figures.used >= figures.trigger:
        return Content.styled(text, "$warning")
    return Content(text)
