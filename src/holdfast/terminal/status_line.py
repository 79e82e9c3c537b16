"""The text of the status line: model, branch, mode, context, cache, cost.

Rule: what matters most stays longest. In a narrow terminal the rest is shortened first and then left out; a number
is never cut. Nothing that draws is loaded for it, and no process is started for the branch.
"""

from collections.abc import Mapping
from pathlib import Path

from rich.cells import cell_len

from holdfast.numbers import counted
from holdfast.terminal.interface import StatusFigures
from holdfast.terminal.safe_text import one_line, truncate


def current_branch(root: str | Path) -> str:
    """The branch of the repository around a folder, or the start of its commit; empty without a repository."""
    for folder in (Path(root), *Path(root).parents):
        if head := _head(folder / ".git"):
            name = head.removeprefix("ref: refs/heads/")
            return name if name != head else head[:8]
    return ""


def _head(git: Path) -> str:
    try:
        if git.is_file():  # in a worktree or a submodule it names the real folder
            named = git.read_text("utf-8", "replace").removeprefix("gitdir:").strip()
            git = git.parent / named
        return (git / "HEAD").read_text("utf-8", "replace").strip()
    except OSError:
        return ""


BETWEEN = " · "
_ORDER = "context effort model mode model branch effort branch cache model branch model context jobs"
"""The order in which parts take their next shorter form until the line fits."""


def status_parts(figures: StatusFigures, width: int) -> list[tuple[str, str]]:
    """The parts that fit into `width` cells, by name."""
    # Each list goes from the longest form to the shortest.
    model, branch = one_line(figures.model), one_line(figures.branch)
    short = model.rpartition("/")[2]
    used, trigger, window = map(format_tokens, (figures.used, figures.trigger, figures.window))
    share = f"{figures.used / figures.window:.0%}" if figures.window else ""
    context = [
        f"{used} of {window} tokens ({share}), folds at {trigger}",
        f"{used} of {window} ({share})",
        share,
    ]
    cost = "$ ?" if figures.dollars is None else format_dollars(figures.dollars)
    is_more = figures.is_partly_priced and figures.dollars is not None and cost.startswith("$")
    words = {
        "model": [model, short, truncate(short, 20), truncate(short, 12), ""],
        "branch": [branch, truncate(branch, 20), truncate(branch, 10), ""],
        "effort": [f"{figures.effort} effort" if figures.effort else "", figures.effort, ""],
        "mode": [f"{figures.mode} mode" if figures.mode else "", figures.mode],
        "context": context if figures.window else [""],
        "jobs": [counted(figures.jobs, "job"), ""] if figures.jobs else [""],
        "cache": [f"cache {figures.cached:.0%}" if figures.cached is not None else "", ""],
        "cost": [f"{cost}+" if is_more else cost],
    }
    shown = {name: forms[0] for name, forms in words.items()}
    taken: list[tuple[str, str]] = []
    for part in _ORDER.split():
        if _fits(shown, width):
            break
        taken.append((part, shown[part]))
        words[part] = words[part][1:] or words[part]
        shown[part] = words[part][0]
    # What was shortened before something larger was left out may have room again.
    for part, longer in reversed(taken):
        if _fits(shown | {part: longer}, width):
            shown[part] = longer
    return [(name, text) for name, text in shown.items() if text]


def _fits(shown: Mapping[str, str], width: int) -> bool:
    cells = [cell_len(text) for text in shown.values() if text]
    return sum(cells) + len(BETWEEN) * (len(cells) - 1) <= width


def format_tokens(number: int) -> str:
    if number < 1_000:
        return str(number)
    if number < 10_000:
        return f"{number / 1000:.1f}k"
    return f"{number / 1000:.0f}k" if number < 1_000_000 else f"{number / 1_000_000:.1f}M"


def format_dollars(amount: float) -> str:
    return f"${amount:.2f}" if amount >= 0.005 or not amount else "<$0.01"
