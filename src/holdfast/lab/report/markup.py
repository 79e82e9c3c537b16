"""HTML and SVG as text.

Rule: everything is escaped here, once, unless it is `Markup` already; only this package's own code makes that.
"""

from collections.abc import Iterable
from html import escape

import msgspec

from holdfast.lab.report.figures import cleaned

VOID = {"meta"}
EMPTY = {"path", "rect", "line", "circle", "use", "polyline"}
"""SVG elements that close themselves when nothing is in them."""


class Markup(str):
    """Text that is markup."""

    __slots__ = ()


Child = str | int | None | Iterable["Child"]
Value = str | float | bool | None


def tag(name: str, /, *children: Child, **attributes: Value) -> Markup:
    """An element. `class_` is `class`, `data_key` is `data-key`; None and False leave an attribute out."""
    opening = name + "".join(_attribute(key, value) for key, value in attributes.items())
    inner = "".join(map(written, children))
    if name in VOID:
        return Markup(f"<{opening}>")
    if name in EMPTY and not inner:
        return Markup(f"<{opening}/>")
    return Markup(f"<{opening}>{inner}</{name}>")


def written(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child
    if isinstance(child, str):
        return escape(cleaned(child), quote=False)
    if isinstance(child, int):
        return str(child)
    return "".join(map(written, child))


def joined(*children: Child) -> Markup:
    return Markup("".join(map(written, children)))


def data_script(name: str, value: object) -> Markup:
    """A value for the page's script. Nothing in it can end the element or begin another."""
    text = msgspec.json.encode(value).decode()
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(f'<script type="application/json" id="{escape(name)}">{text}</script>')


def number(value: float) -> str:
    """A coordinate: a tenth of a pixel is enough."""
    return f"{round(value, 1):g}" if abs(value) < 1e5 else str(round(value))


def _attribute(key: str, value: Value) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    text = cleaned(value) if isinstance(value, str) else number(value)
    return f' {name}="{escape(text)}"'
