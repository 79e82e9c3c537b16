"""Texts that were left out of requests, as files that an agent reads with tools of its own.

Rule: a file has the whole text, byte for byte, under an id that comes from the text; it is written once, before any
mark names it, for its owner alone.
"""

import os
import re
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from holdfast.ids import ALPHABET, LENGTH
from holdfast.messages import ToolCall

_ID = rf"[ae][{ALPHABET}]{{{LENGTH}}}"
_FILE = re.compile(rf"\b{_ID}\.txt\b")
"""The name of such a file."""
MOST_WRITERS = 16
"""Files written at the same time: a disk takes about as long for a few of them as for one."""


class TextFiles:
    """The files of one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()

    def path(self, id_: str) -> Path:
        return self.folder / f"{id_}.txt"

    def has(self, id_: str) -> bool:
        return self.path(id_).exists()

    def keep(self, id_: str, text: str) -> None:
        """Write a text, unless it is there already. Raises OSError where that cannot be done."""
        place = self.path(id_)
        if not self.has(id_):
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, scratch = tempfile.mkstemp(dir=self.folder)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(text.encode("utf-8", "surrogatepass"))
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(scratch, place)  # noqa: PTH105 - both are names here
            except BaseException:
                os.unlink(scratch)  # noqa: PTH108
                raise

    def keep_all(self, texts: Iterable[tuple[str, str]]) -> None:
        """Write texts, each with its id. Raises OSError where one cannot be written."""
        with ThreadPoolExecutor(MOST_WRITERS) as writers:
            for kept in [writers.submit(self.keep, id_, text) for id_, text in texts]:
                kept.result()

    def ids_in(self, text: str) -> list[str]:
        """The ids of the files of this folder that a text names."""
        return re.findall(re.escape(str(self.folder)) + rf"/({_ID})\.txt", text)

    def are_named_in(self, call: ToolCall) -> bool:
        """Whether a call reads one of these files, or of another folder with such files."""
        return bool(_FILE.search(call.raw or msgspec.json.encode(call.arguments).decode()))

    def retrieval_hint(self, what: str, id_: str, part: str) -> str:
        """What a mark says in place of a call of Recall."""
        if part:
            return f"{part} of {self.path(id_)}"
        beside = "; each id below is a file beside it" if " folded (" in what else ""
        return f"whole text: {self.path(id_)}{beside}"
