"""The features that a line's and a name's worth is judged by: readable, and few.

Rule: a feature's value needs the log up to now and nothing else. The order of the names here is the order in the
vectors; a new feature goes to the end, and raises `VERSION`.
"""

from math import log1p

from holdfast.packing.lines.facts import EDGE, LONG_LINE, SHORT_TEXT, LineLooks, NameLooks, Origin
from holdfast.tool_use import Kind

VERSION = 1

FIXED_LINE = (
    "always", "user", "said", "call", "argument", "result", "read", "search", "shell", "listing", "change",
    "other_tool", "log_size", "long", "short", "indent", "definition", "trouble", "import", "comment", "log_names",
    "first_rows", "last_rows", "log_rows", "added", "removed", "numbered", "lone", "structure",
)  # fmt: skip
"""What of a line never changes."""
MOVING_LINE = ("log_age", "log_repeats", "in_goal", "file_changed", "log_file_age", "file_changed_since")
"""What of it does, as the log grows."""
LINE_FEATURES = (*FIXED_LINE, *MOVING_LINE)

FIXED_NAME = (
    "always", "own", "path", "deep_path", "extension", "number", "address", "camel", "snake", "dotted",
    "log_length",
)  # fmt: skip
SEEN_NAME = (
    "log_count", "log_messages", "used", "log_used", "in_user", "log_said", "in_trouble", "in_definition",
)  # fmt: skip
"""What of a name changes when it is seen again."""
MOVING_NAME = ("log_age", "used_lately", "file_touched", "file_changed", "log_steps", "new")
NAME_FEATURES = (*FIXED_NAME, *SEEN_NAME, *MOVING_NAME)

LATELY = 10
"""Steps back that are lately."""
NEW = 5
"""Steps since its first sight for which a name is new."""

_CHANGES = ("edit", "multiedit", "write")


def fixed_line(
    looks: LineLooks, line: str, origin: Origin, kind: Kind | None, row: int, rows: int, bonus: float
) -> tuple[float, ...]:
    """`kind` is the call's, None where there is no call; `row` is the line's place among `rows`, and `bonus` what
    the structure of its text gives it."""
    result = kind if origin == "result" else None
    return (
        1.0,
        origin == "user",
        origin == "said",
        origin == "call",
        origin == "argument",
        origin == "result",
        result == "read",
        result == "grep",
        result == "bash",
        result in ("ls", "glob"),
        kind in _CHANGES,
        result == "other",
        log1p(looks.size),
        looks.size > LONG_LINE,
        len(looks.key) < SHORT_TEXT,
        log1p(len(line) - len(line.lstrip())),
        looks.is_definition,
        looks.is_trouble,
        looks.is_import,
        looks.is_comment,
        log1p(len(looks.names)),
        row < EDGE,
        row >= rows - EDGE,
        log1p(rows),
        line.startswith("+"),
        line.startswith("-"),
        looks.is_numbered,
        looks.is_lone,
        bonus,
    )


def fixed_name(looks: NameLooks, own: bool) -> tuple[float, ...]:
    """`own` says that the agent itself brought the name up."""
    return (
        1.0,
        own,
        looks.is_path,
        looks.is_deep,
        looks.has_extension,
        looks.is_number,
        looks.is_address,
        looks.is_camel,
        looks.is_snake,
        looks.is_dotted,
        log1p(looks.length),
    )
