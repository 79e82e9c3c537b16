"""The line at the bottom: model, branch, mode, context, cache, cost.

Rule: what matters most stays longest. In a narrow terminal the rest is shortened first and then left out; a number
is never cut.
"""

from rich.cells import cell_len
from textual.content import Content

from holdfast.terminal.laid import Laid
from holdfast.terminal.plain import fitted, one_line
from holdfast.terminal.values import Figures

MODES = ("plan", "ask", "edit", "auto")
_STYLES = {"plan": "$primary", "ask": "", "edit": "$warning", "auto": "bold $error"}
_BETWEEN = " · "
_ORDER = "model mode model branch branch model cache context branch model context"
"""Which part takes its next shorter form first, and then, until the line fits."""


class Status(Laid):
    def __init__(self) -> None:
        super().__init__(id="status")
        self.figures = Figures()

    def show(self, figures: Figures) -> None:
        if figures != self.figures:
            self.figures = figures
            self.changed()

    def content_at(self, width: int) -> Content:
        return status_content(self.figures, width)


def status_content(figures: Figures, width: int) -> Content:
    # Each list goes from the fullest wording to the shortest.
    model, branch = one_line(figures.model), one_line(figures.branch)
    short = model.rpartition("/")[2]
    words = {
        "model": [model, short, fitted(short, 20), fitted(short, 12), ""],
        "branch": [branch, fitted(branch, 20), fitted(branch, 10), ""],
        "mode": [f"{figures.mode} mode" if figures.mode else "", figures.mode],
        "context": _context(figures),
        "cache": [f"cache {figures.cached:.0%}" if figures.cached is not None else "", ""],
        "cost": [_cost(figures)],
    }
    taken = dict.fromkeys(words, 0)
    for part in _giving_way(words):
        if _length(words, taken) <= width:
            break
        taken[part] += 1
    parts = [(name, words[name][n]) for name, n in taken.items() if words[name][n]]
    return Content(_BETWEEN).join(_styled(name, text, figures) for name, text in parts)


def tokens_said(number: int) -> str:
    if number < 1_000:
        return str(number)
    if number < 10_000:
        return f"{number / 1000:.1f}k"
    return f"{number / 1000:.0f}k" if number < 1_000_000 else f"{number / 1_000_000:.1f}M"


def _giving_way(words: dict[str, list[str]]) -> list[str]:
    left = {name: len(forms) - 1 for name, forms in words.items()}
    steps = []
    for name in _ORDER.split():
        if left[name]:
            left[name] -= 1
            steps.append(name)
    return steps


def _length(words: dict[str, list[str]], taken: dict[str, int]) -> int:
    shown = [cell_len(text) for name, n in taken.items() if (text := words[name][n])]
    return sum(shown) + len(_BETWEEN) * (len(shown) - 1)


def _context(figures: Figures) -> list[str]:
    if not figures.window:
        return [""]
    used, trigger, window = map(tokens_said, (figures.used, figures.trigger, figures.window))
    share = f"{figures.used / figures.window:.0%}"
    return [f"{used} / {trigger} / {window} ({share})", f"{used}/{trigger}/{window}", share]


def _cost(figures: Figures) -> str:
    if figures.dollars is None:
        return "$ ?"
    more = "+" if figures.is_partly_priced else ""
    return f"${figures.dollars:.2f}{more}" if figures.dollars >= 0.005 or not figures.dollars else "<$0.01"


def _styled(name: str, text: str, figures: Figures) -> Content:
    if name == "mode":
        return Content.styled(text, _STYLES.get(figures.mode, ""))
    if name == "context" and figures.trigger and figures.used >= figures.trigger:
        return Content.styled(text, "$warning")
    return Content(text)
