"""The numbers in the definition of a need, in one place.

Rule: nothing else in this room holds one; the sensitivity command varies them here.
"""

from msgspec import Struct


class Measure(Struct, frozen=True):
    line_length: int = 16
    """Characters of a line that can be a need."""
    name_length: int = 6
    """Characters of a name that can be a need."""
    common_projects: int = 2
    """A name in more projects than this, of those it was calibrated on, is nobody's evidence ..."""
    common_share: float = 0.03
    """... or in more than this share of them, whichever is more."""
    overlap: float = 0.5
    """Share of the other names, and of the other words, of its source line that must stand with a name."""
    hard_steps: int = 5
    """A hard need was last seen more steps ago than this ..."""
    hard_share: float = 0.5
    """... and outside the newest part of the budget, this large."""


DEFAULT = Measure()
