"""The section with the windows of one recording: one picture for each policy and budget, one of them open.

Rule: all pictures are drawn here, so that the page's script only chooses among them and reads out numbers.
"""

from collections.abc import Mapping, Sequence

from holdfast.lab.report import figures
from holdfast.lab.report.looks import PolicyLook
from holdfast.lab.report.markup import Markup, tag
from holdfast.lab.report.picture import (
    FOLD_SHARE,
    LAYER_COLOURS,
    Columns,
    columns_of,
    draw_picture,
    is_by_role,
    layers_in,
    layers_of,
    summary,
)
from holdfast.lab.results import Picture, ReplayReport


def columns_of_all(report: ReplayReport) -> list[Columns]:
    colours = layers_in(report.pictures)
    return [columns_of(picture, colours) for picture in report.pictures]


def picture_section(report: ReplayReport, looks: Mapping[str, PolicyLook]) -> Markup | None:
    if not report.pictures:
        return None
    recordings = list(dict.fromkeys(p.recording for p in report.pictures))
    colours = layers_in(report.pictures)
    opened = next((at for at, p in enumerate(report.pictures) if not is_by_role(p)), 0)
    lead = (
        "A column is a request. Layers stand in the order sent, the first at the bottom; the faded part was read "
        "from the cache, full colour was paid in full. A fold is a request that dropped or changed more than "
        f"{FOLD_SHARE * 100:.0f} % of the one before. Bars in the lane of misses are hard needs whose evidence was "
        "not there; ✕ is a fault."
    )
    return tag(
        "section",
        tag("h2", "The window, step by step"),
        tag("p", lead, class_="lead"),
        _choices(report.pictures, recordings, looks),
        [
            _picture(p, colours, looks, at=at, recording=recordings.index(p.recording), opened=at == opened)
            for at, p in enumerate(report.pictures)
        ],
        tag(
            "p",
            "Point at a request, or use the arrow keys, to read it.",
            id="readout",
            class_="readout",
            aria_live="polite",
        ),
        id="window",
    )


def _choices(
    pictures: Sequence[Picture], recordings: Sequence[str], looks: Mapping[str, PolicyLook]
) -> Markup:
    """Shown by the script, which alone can use them."""
    policies = dict.fromkeys(p.policy for p in pictures)
    budgets = sorted({p.budget for p in pictures})
    return tag(
        "div",
        _select("recording", {str(at): name for at, name in enumerate(recordings)}),
        _select("policy", {str(looks[name].key): name for name in policies}),
        _select("budget", {str(size): figures.budget(size) for size in budgets}),
        class_="choices",
        hidden=True,
    )


def _select(name: str, options: Mapping[str, str]) -> Markup:
    choices = [tag("option", figures.plain(text, 80), value=value) for value, text in options.items()]
    return tag("label", tag("span", name), " ", tag("select", choices, id=f"choose-{name}"))


def _picture(
    picture: Picture,
    colours: Mapping[str, int],
    looks: Mapping[str, PolicyLook],
    *,
    at: int,
    recording: int,
    opened: bool,
) -> Markup:
    used = layers_of(picture, colours)
    key = [
        tag("span", tag("i", class_=f"y{colours[n] % LAYER_COLOURS}"), figures.plain(n, 40), class_="key")
        for n in used
    ]
    by_role = tag(
        "p",
        "This policy names no layers: the heights are sums by role, and the cached part is only a length.",
        class_="lead",
    )
    policy, budget = figures.plain(picture.policy), figures.budget(picture.budget)
    return tag(
        "details",
        tag("summary", f"{policy} at {budget}"),
        tag(
            "p",
            tag("b", f"{policy} at {budget}"),
            f" on {figures.plain(picture.recording)}: {summary(picture)}",
            class_="told",
        ),
        tag("p", "layers, the first sent on the left: ", key, class_="keys") if used else None,
        by_role if used and is_by_role(picture) else None,
        tag("div", draw_picture(picture, colours), class_="card scroll"),
        class_="picture",
        open=opened,
        data_at=at,
        data_recording=recording,
        data_policy=looks[picture.policy].key,
        data_budget=picture.budget,
    )
