"""Dollars as people read them.

Rule: in cents; a part of a cent is shown where it counts, so that a small amount does not look like none.
"""


def format_dollars(dollars: float) -> str:
    if dollars >= 1 or dollars == round(dollars, 2):
        return f"${dollars:.2f}"
    return f"${dollars:.6f}".rstrip("0").removesuffix(".")
