"""The marks a pack leaves where something is missing: how much, and the id that brings it back.

Rule: a mark stands on one line, starts with `[holdfast:` and never quotes untrusted text beyond a short label.
"""

MARK = "[holdfast:"


def recall_call(id_: str, **where: str) -> str:
    """The call of the Recall tool that fetches what a mark stands for."""
    inside = ", ".join([f'id="{id_}"', *(f'{key}="{value}"' for key, value in where.items())])
    return f"Recall({inside})"


def mark(what: str, id_: str = "", **where: str) -> str:
    back = f"; {recall_call(id_, **where)}" if id_ else ""
    return f"{MARK} {one_line(what)}{back}]"


def one_line(text: str) -> str:
    return " ".join(text.split())


def is_marked(text: str) -> bool:
    """Whether a text was reduced before: reducing it again would only wear it down."""
    return text.startswith(MARK) or f"\n{MARK}" in text
