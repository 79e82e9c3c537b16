"""Noise: progress, downloads, and lines that say the same again with another number in them.

Rule: the first few of a kind stay as they are; only a line that no structure claims is noise.
"""

import re
from collections import Counter
from string import digits

from holdfast.packing.structure.sight import LONGEST, Sight
from holdfast.packing.structure.value import DULL, NOISE, REPEATED, Findings

_CHATTER = re.compile(
    r"\n[ \t]{0,8}+(?:"
    r"(?:Collecting|Downloading|Downloaded|Using cached|Requirement already|Installing (?:collected|build)) "
    r"|Preparing (?:metadata|to unpack)|Building (?:wheel|dependency)|Created wheel|Stored in directory"
    r"|Getting requirements|go: (?:downloading|finding|extracting) |npm (?:warn|WARN|notice|http) "
    r"|added \d++ packages|\d++ packages are looking|run `npm (?:fund|audit)|\[\d/\d\] "
    r"|(?:Compiling|Checking|Fresh|Updating|Locking|Adding) \S++ v?\d|(?:Get|Hit|Ign):\d++ |Selecting previously"
    r"|(?:Unpacking|Setting up) \S|Processing triggers|\(?Reading (?:package|state|database)"
    r"|(?:\[INFO\] )?+Download(?:ing|ed)(?: from \S++)?+: |Progress \(\d"
    r"|(?:remote: )?+(?:Receiving|Unpacking|Resolving|Counting|Compressing|Writing|Enumerating) (?:objects|deltas)"
    r"|[0-9a-f]{12}: (?:Pull|Wait|Verif|Down|Extract|Already)"
    r"|#\d++ (?:sha256|\d|DONE|CACHED|transferring|extracting)|[\d. ]{1,6}+%|\d++ ++\d++ ++\d++ ++\d++ ++\d++ ++\d)"
)
_BARS = tuple((sign, re.compile(re.escape(sign))) for sign in ("███", "░░░", "[===", "[###", "%|"))
"""Signs of a bar, wherever in a line it is drawn."""
FEWEST = 30
"""Lines below which noise does not matter."""
_PLACE = re.compile(r"[\w)]:\d++[:,)]|\(\d++,\d++\)|\b[Ll]ine \d|^[ \t>]*+\d++ ?[│|]")
"""A place in a file: a line that names one says something new, however much it looks like the one before."""
FEW = 3
"""So many lines of one kind are shown as what they are."""
SHORTEST = 8
"""Characters beside digits that a line must have to be known again."""
_WITHOUT_DIGITS = str.maketrans("", "", digits)
_TELLING_WORDS = ("rror", "ail", "warn", "WARN", "FAIL", "ERR")


def mark_noise(sight: Sight, findings: Findings) -> None:
    """Noise runs on: what does not show in a sample of the text is not looked for in all of it."""
    if sight.count < FEWEST:
        return
    if _CHATTER.search("\n" + "\n".join(sight.sample)):
        for seen, (line, found) in enumerate(sight.hits(_CHATTER)):
            if seen >= FEW and not any(word in found[0] for word in _TELLING_WORDS):
                findings.adjust(line, NOISE)
    for sign, pattern in _BARS:
        if sign in sight.text:
            for line in {line for line, _ in sight.hits(pattern)}:
                findings.adjust(line, NOISE)
    if "\r" in sight.text:
        for line, text in enumerate(sight.lines):
            if "\r" in text.rstrip("\r"):
                findings.adjust(line, DULL)
    if _repeated(_shapes(sight.sample)):
        _mark_repeats(sight, findings)


def _mark_repeats(sight: Sight, findings: Findings) -> None:
    shapes = _shapes(sight.lines)
    seen = dict.fromkeys(_repeated(shapes), 0)
    for number, shape in enumerate(shapes):
        if shape in seen:
            seen[shape] += 1
            line = sight.lines[number]
            if seen[shape] > FEW and not _PLACE.search(line[:LONGEST]):
                # The same to the letter may be code; the same but for a number is a log.
                findings.adjust(number, REPEATED if len(shape) != len(line) else DULL)


def _repeated(shapes: list[str]) -> list[str]:
    return [shape for shape, times in Counter(shapes).items() if times > FEW and len(shape) >= SHORTEST]


def _shapes(lines: list[str]) -> list[str]:
    """The lines without their digits."""
    text = "\n".join(lines)
    if text.isascii():
        text = text.translate(_WITHOUT_DIGITS)
    else:
        for digit in digits:
            text = text.replace(digit, "")
    return text.split("\n")
