"""What ends a run, as one small tree.

HoldfastError
├── InputError        a file or value that people gave us: names what and where (exit 2)
│   └── ConfigError   a profile, setting or environment variable
├── NotFound          an id, log or recording that is not there (exit 3)
├── StoreError        the store cannot be read or written (exit 4)
└── ContextOverflow   what may not be cut does not fit the budget (exit 5)

Each has a `message`, one sentence, and where there is one a `hint`; `str(error)` gives both. A programmer's mistake
is an assertion instead.
"""

from collections.abc import Iterable
from difflib import get_close_matches

MOST_NAMES = 12
"""How many names a hint lists."""
NEAR = 0.65
"""How alike two names must be for one to be meant by the other."""


class HoldfastError(Exception):
    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message


class InputError(HoldfastError):
    exit_code = 2


class ConfigError(InputError):
    pass


class NotFound(HoldfastError):
    exit_code = 3


class StoreError(HoldfastError):
    exit_code = 4


class ContextOverflow(HoldfastError):
    """`parts` are (name, tokens) of everything that may not be cut, largest first."""

    exit_code = 5

    def __init__(
        self, message: str, *, parts: tuple[tuple[str, int], ...], budget: int, hint: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.parts = parts
        self.budget = budget


def suggest(name: str, known: Iterable[str], *, lists: bool = False, prefix: str = "", more: str = "") -> str:
    """A hint for an unknown name: the known one that is like it, or else what there is.

    With `lists` it says what there is in any case. `prefix` is put before every name, such as a slash; `more` is
    a last clause.
    """
    names = [*dict.fromkeys(known)]
    # Letters in the wrong order are the likeliest mistake.
    found = sorted(get_close_matches(name, names, cutoff=NEAR), key=lambda one: sorted(one) != sorted(name))
    near = [f"did you mean `{prefix}{match}`?" for match in found[:1]]
    shown = ", ".join(f"{prefix}{known}" for known in names[:MOST_NAMES])
    others = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    listed = [f"there are: {shown}{others}"] if lists or not near else []
    return " ".join([*near, "; ".join([*listed, *([more] if more else [])])]).strip()


def describe_value(value: object) -> str:
    """A value in words, for a sentence that says what was found where something else was expected."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f"the text `{value[:40]}`" if value else "an empty text"
    if isinstance(value, int | float):
        return f"the number {value}"
    return "a table" if isinstance(value, dict) else f"a {type(value).__name__}"
