"""The text of the status line: model, branch, mode, context, cache, cost.

Rule: what matters most stays longest. In a narrow terminal the rest is shortened first and then left out; a number
is never cut. Nothing that draws is loaded for it, and no process is started for the branch.
"""

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
_ORDER = "context effort model mode model branch effort branch model cache branch model jobs context"
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
    for part in _ORDER.split():
        shown = [cell_len(forms[0]) for forms in words.values() if forms[0]]
        if sum(shown) + len(BETWEEN) * (len(shown) - 1) <= width:
            break
        words[part] = words[part][1:] or words[part]
    return [(name, forms[0]) for name, forms in words.items() if forms[0]]


def format_tokens(number: int) -> str:
    if number < 1_000:
        return str(number)
    if number < 10_000:
        return f"{number / 1000:.1f}k"
    return f"{number / 1000:.0f}k" if number < 1_000_000 else f"{number / 1_000_000:.1f}M"


def format_dollars(amount: float) -> str:
    return f"${amount:.2f}" if amount >= 0.005 or not amount else "<$0.01"
