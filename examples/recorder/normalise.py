"""Make output the same on every machine.

Rule: only what a machine adds is replaced (paths, durations, versions, addresses); nothing is left out.
"""

import re
import sys
from collections.abc import Mapping
from pathlib import Path

SECONDS = "0.12s"
WIDTH = 80
VERSIONS = "platform linux -- Python 3.11.9, pytest-9.0.0, pluggy-1.6.0"

_DURATION = re.compile(r"\b(?<=in )\d+\.\d+s(?: \(\d+:\d\d:\d\d\))?")
_SUMMARY = re.compile(r"^=+ ((?:\d+ \w+(?:, )?)+ in \d+\.\d+s) =+$", re.MULTILINE)
_PLATFORM = re.compile(r"^platform .* -- Python .*$", re.MULTILINE)
_ADDRESS = re.compile(r"\b0x[0-9a-f]{8,16}\b")

NOTE = (
    "file paths, durations, version lines and memory addresses in tool results are replaced by fixed ones; "
    "git runs with fixed identities and the clock of `ts`"
)


def normalised(text: str, places: Mapping[Path, str]) -> str:
    """`places` says what to call the folders of this run; a folder inside another must come first."""
    for place, name in places.items():
        for spelled in (str(place.resolve()), str(place)):
            text = text.replace(spelled, name)
    text = _DURATION.sub(SECONDS, text)
    text = _SUMMARY.sub(lambda found: f" {found[1]} ".center(WIDTH, "="), text)
    text = _PLATFORM.sub(VERSIONS, text)
    return _ADDRESS.sub("0x7f0000000000", text)


def leaks(text: str, places: Mapping[Path, str]) -> list[str]:
    """Paths of this machine that are still in a text."""
    machine = [*places, Path.home(), Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parents[2]]
    innocent = {"/usr", *places.values()}
    names = {str(path) for path in machine if len(path.parts) > 1} - innocent
    return sorted(name for name in names if name in text)
