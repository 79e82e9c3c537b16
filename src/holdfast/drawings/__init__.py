"""What the viewer's page and the report of a replay share: colours, the timeline, and how a page becomes one file.

Rule: a page in one file needs nothing else. Its policy runs the one script whose hash it names, and data in it can
neither end its element nor begin another.
"""

from base64 import b64encode
from hashlib import sha256
from importlib.resources import files

import msgspec

DRAWINGS = ("common.css", "common.js", "timeline.js")


def asset(name: str, package: str = "holdfast.drawings") -> str:
    """A file of a package, such as a script."""
    return files(package).joinpath(name).read_text("utf-8")


def source_hash(text: str) -> str:
    """What a content security policy calls the text of a script or a style."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def embedded(value: object) -> str:
    """JSON for the script of a page."""
    text = msgspec.json.encode(value).decode()
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
