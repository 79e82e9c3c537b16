"""Mentions: `@path` in what a person says becomes a reminder to read the file.

Rule: only a picture is attached; every other mention names what must be read with the tools, which stay inside the
workspace. A mention that cannot be read is reported, never ignored.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from holdfast.agents.attachments import MOST_PICTURES, Attachment, attach_picture
from holdfast.messages import Image, system_reminder
from holdfast.tools.envelope import ToolError
from holdfast.tools.workspace import Workspace
from holdfast.tools.workspace_files import entry_kind

MOST_FILES = 5

_MENTION = re.compile(
    r"""(?P<escaped>\\@)
    | @ (?: "(?P<quoted>[^"\n]+)"
          | (?P<plain>(?:(?!\#L\d)[^\s"'`<>|,;:()\[\]{}，。；：！？、（）《》「」【】@\\])+) )
        (?P<lines> (?: :L? | \#L ) (?P<first>\d{1,9}) (?: - L? (?P<last>\d{0,9}) )? )?""",
    re.VERBOSE,
)
_TRAILING = ".!?"
_FIRST_CJK = "\u2e80"
"""From this character on, a letter before the `@` does not make it an address: `请看@src/a.py` is a mention."""


class Mention(Struct, frozen=True):
    """`path` is as it was written. `first` is 0 if no lines were named; `last` is 0 also if the range is open."""

    path: str
    first: int = 0
    last: int = 0
    is_quoted: bool = False

    @property
    def lines(self) -> str:
        if not self.first:
            return ""
        if self.last == self.first:
            return f", line {self.first}"
        return f", lines {self.first}-{self.last}" if self.last else f", from line {self.first} on"


class ResolvedPrompt(Struct, frozen=True):
    """What goes to the model: the text without its escapes, and a reminder, which may be empty."""

    text: str
    reminder: str
    missing: tuple[str, ...] = ()
    """Mentions that could not be resolved."""
    pictures: tuple[Image, ...] = ()
    notes: tuple[str, ...] = ()
    """What was attached and what was not, for the person."""


def resolve_mentions(text: str, workspace: Workspace, *, takes_images: bool = False) -> ResolvedPrompt:
    """A person's text, the pictures and a reminder to read the files that it mentions."""
    pictures: dict[str, Attachment] = {}
    files: dict[str, str] = {}
    folders: dict[str, str] = {}
    troubles: dict[str, str] = {}
    for mention in find_mentions(text):
        place = Path(workspace.roots[0], mention.path).expanduser() if workspace.roots else Path(mention.path)
        if attached := attach_picture(place, mention.path, takes_images=takes_images):
            if len(pictures) == MOST_PICTURES and mention.path not in pictures:
                attached = Attachment(
                    f"`{mention.path}` is one picture too many; {MOST_PICTURES} can be attached"
                )
            pictures.setdefault(mention.path, attached)
            continue
        try:
            status = workspace.status(mention.path)
        except ToolError as error:
            # `@src/a.py` is surely a file; `@property` and `@alice` may not be.
            is_path = mention.is_quoted or mention.first or "/" in mention.path or "." in mention.path
            if error.code == "NOT_FOUND" and not is_path:
                continue
            troubles.setdefault(mention.path, error.message)
            continue
        shown = workspace.locate(mention.path).shown
        named = folders if entry_kind(status.st_mode) == "directory" else files
        named.setdefault(f"{shown}{mention.lines}", shown)
    notes = tuple(one.about for one in pictures.values())
    return ResolvedPrompt(
        text.replace("\\@", "@"),
        _reminder(list(files), list(folders), troubles, notes),
        tuple(troubles),
        tuple(one.picture for one in pictures.values() if one.picture),
        notes,
    )


def find_mentions(text: str) -> Iterator[Mention]:
    for found in _MENTION.finditer(text):
        before = text[max(found.start() - 1, 0) : found.start()]
        is_inside_a_word = before == "_" or (before.isalnum() and before < _FIRST_CJK)
        if found["escaped"] or is_inside_a_word:
            continue
        path = found["quoted"] or found["plain"]
        if not found["quoted"] and not found["lines"]:
            path = path.rstrip(_TRAILING)
        if not path:
            continue
        first = int(found["first"] or 0)
        last = found["last"]
        yield Mention(path, first, first if last is None else int(last or 0), bool(found["quoted"]))


def _reminder(files: list[str], folders: list[str], troubles: dict[str, str], pictures: Sequence[str]) -> str:
    lines = (
        [f"Of pictures that the user mentioned, in their order: {'; '.join(pictures)}"] if pictures else []
    )
    if files:
        lines.append("The user mentioned these files. You must read them with Read before you answer:")
        lines += [f"- {name}" for name in files[:MOST_FILES]]
    if left := files[MOST_FILES:]:
        lines.append(f"Also mentioned, beyond the first {MOST_FILES}; read what you need: {', '.join(left)}")
    if folders:
        lines.append(f"The user mentioned these folders; list them with LS: {', '.join(folders)}")
    lines += [f"A mention leads to nothing: {said}. Tell the user." for said in troubles.values()]
    return system_reminder("\n".join(lines)) if lines else ""
