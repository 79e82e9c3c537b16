"""How each policy looks: a colour, a shape and a dash, the same in every chart.

Rule: no two policies share both colour and shape, so that the picture can be read without colours.
"""

from collections.abc import Iterable
from math import cos, pi, sin

from msgspec import Struct

from holdfast.lab.report.markup import Markup, number, tag
from holdfast.lab.results import ReplayReport

COLOURS = 8
"""Set in `style.css` as `--c0` and so on, for light and for dark."""
SHAPES = ("circle", "square", "up", "diamond", "down", "cross", "star")
"""Seven shapes and eight colours meet again only after 56 policies."""
DASHES = ("", "7 3", "2 3", "9 3 2 3")


class PolicyLook(Struct, frozen=True):
    key: int
    """The policy's place in the report, by which the page's script knows it."""
    name: str

    @property
    def colour(self) -> str:
        return f"c{self.key % COLOURS}"

    @property
    def dash(self) -> str | None:
        return DASHES[self.key // COLOURS % len(DASHES)] or None

    def mark(self, x: float, y: float, radius: float, *, hollow: bool = False) -> Markup:
        outline = _outline(SHAPES[self.key % len(SHAPES)], radius)
        return tag(
            "path",
            class_="m hollow" if hollow else "m",
            d=outline,
            transform=f"translate({number(x)} {number(y)})",
        )

    @property
    def swatch(self) -> Markup:
        """The look beside a name; drawn once on the page, in `swatches`."""
        inner = tag("use", href=f"#look{self.key}")
        return tag("svg", inner, class_=f"swatch {self.colour}", viewBox="0 0 32 18", aria_hidden="true")


def named(look: PolicyLook | None, name: str, *signs: Markup | None) -> Markup:
    """A name with its look before it, and signs after it."""
    return tag("span", look.swatch if look else None, tag("span", name, signs), class_="who")


def swatches(looks: Iterable[PolicyLook]) -> Markup:
    """What swatches refer to. The browser keeps it and does not show it."""
    lines = [
        tag(
            "g",
            tag("line", x1=1, y1=9, x2=31, y2=9, class_="l", stroke_dasharray=look.dash),
            look.mark(16, 9, 5.5),
            id=f"look{look.key}",
        )
        for look in looks
    ]
    return tag("svg", tag("defs", lines), width=0, height=0, class_="defs", aria_hidden="true")


def looks_of(report: ReplayReport) -> dict[str, PolicyLook]:
    """Policies in the order of the report."""
    names: Iterable[str] = dict.fromkeys(
        [row.policy for row in report.rows] + [picture.policy for picture in report.pictures]
    )
    return {name: PolicyLook(key, name) for key, name in enumerate(names)}


def _outline(shape: str, r: float) -> str:
    if shape == "circle":
        arc = f"a{number(r)} {number(r)} 0 1 0"
        return f"M{number(-r)} 0{arc} {number(2 * r)} 0{arc} {number(-2 * r)} 0Z"
    if shape == "cross":
        return _closed(_plus(r * 1.1))
    if shape == "star":
        return _closed([_at(r * (1.35 if i % 2 == 0 else 0.6), i / 10) for i in range(10)])
    corners, size, turn = {
        "square": (4, 1.25, 0.125),
        "diamond": (4, 1.35, 0),
        "up": (3, 1.35, 0),
        "down": (3, 1.35, 0.5),
    }[shape]
    return _closed([_at(r * size, turn + i / corners) for i in range(int(corners))])


def _at(r: float, turn: float) -> tuple[float, float]:
    """A point at a distance, clockwise from the top."""
    return r * sin(2 * pi * turn), -r * cos(2 * pi * turn)


def _plus(r: float) -> list[tuple[float, float]]:
    a = r * 0.38
    return [
        (-a, -r),
        (a, -r),
        (a, -a),
        (r, -a),
        (r, a),
        (a, a),
        (a, r),
        (-a, r),
        (-a, a),
        (-r, a),
        (-r, -a),
        (-a, -a),
    ]


def _closed(points: list[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points) + "Z"
