"""A path that was pasted: terminals paste the path of a file that is dropped on them.

Rule: only the path of a picture that exists becomes a mention; any other text stays as it was pasted.
"""

import shlex
from pathlib import Path
from urllib.parse import unquote, urlsplit

from holdfast.terminal.candidates import format_mention

PICTURES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp"})
LONGEST = 4_096


def pasted_picture(text: str) -> str:
    """The mention of the picture whose path was pasted; empty for any other text."""
    text = text.strip()
    if not text or len(text) > LONGEST or "\n" in text or "\0" in text:
        return ""
    try:
        words = [unquote(urlsplit(text).path)] if text.startswith("file://") else shlex.split(text)
        path = Path(words[0]).expanduser() if len(words) == 1 else Path()
        is_picture = path.is_absolute() and path.suffix.lower() in PICTURES and path.is_file()
    except (OSError, RuntimeError, ValueError):
        return ""
    return f"{format_mention(str(path))} " if is_picture and '"' not in str(path) else ""
