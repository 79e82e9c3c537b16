"""The most memory a process had since a moment, as the system tells it.

Rule: where the system cannot tell, the figure is 0 and not a guess.
"""

from pathlib import Path

_RESET = Path("/proc/self/clear_refs")
_STATUS = Path("/proc/self/status")


def reset_peak() -> bool:
    """Begin anew; whether the system could."""
    try:
        _RESET.write_text("5")
    except OSError:
        return False
    return True


def peak_bytes() -> int:
    return _field("VmHWM:")


def resident_bytes() -> int:
    return _field("VmRSS:")


def _field(name: str) -> int:
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(name)), 0)
