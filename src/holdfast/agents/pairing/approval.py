"""Who approves of a design, and answers what only a person can: a rule, or files; a terminal has its own.

Rule: what nobody has decided is not decided: the work stops there and can be gone on with. No agent can write an
approval, since the files lie outside the folder that agents work in.
"""

from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct

from holdfast.errors import InputError
from holdfast.pair.layout import replace_file
from holdfast.pair.phases import Answer, Asked, Decided, too_long


class Approvals(Protocol):
    """**Contract:** None where nobody can decide it now."""

    async def decide(self, asked: Asked) -> Decided | None: ...

    def how(self, asked: Asked) -> str:
        """How a person gets it decided, for a hint."""
        ...


class Auto(Struct, frozen=True):
    """Every design is approved, and it goes on after a crash and with summaries by rule; questions stay open, and
    agents see them."""

    async def decide(self, asked: Asked) -> Decided | None:
        if asked.about in ("design", "summary", "uncertain"):
            return Decided(asked.id, "approve", by="the policy `auto`")
        return None

    def how(self, asked: Asked) -> str:
        if asked.about == "blocked":
            return "make it possible, with a rule of `--allow` where it is a command, and go on with `--continue`"
        return "go on with `--continue --approve ask`"


class _Given(Struct, frozen=True, forbid_unknown_fields=True):
    answer: Answer
    words: str = ""


class _Request(Struct, frozen=True):
    """What is asked, and how it is answered."""

    id: str
    about: str
    text: str
    files: tuple[str, ...]
    answer_to: str
    answers: tuple[str, ...]


class FromFile(Struct, frozen=True):
    """`ID.json` in a folder holds `{"answer": "approve"}` or `{"answer": "reject", "words": "why"}`, for a question
    `{"answer": "say", "words": "the answer"}`; what is asked stands beside it in `ID.request.json`."""

    folder: Path

    async def decide(self, asked: Asked) -> Decided | None:
        file = self._file(asked)
        self._ask(asked)
        try:
            given = msgspec.json.decode(file.read_bytes(), type=_Given)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"the decision {file} cannot be read: {error.strerror}") from None
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise self._wrong(asked, str(error)) from None
        if given.answer not in asked.answers:
            raise self._wrong(asked, f"`{given.answer}` is no answer about a {asked.about}")
        if given.answer == "say" and not given.words.strip():
            raise self._wrong(asked, "`words` are missing")
        if why := too_long(given.words):
            raise self._wrong(asked, why)
        return Decided(asked.id, given.answer, given.words, by="a file")

    def how(self, asked: Asked) -> str:
        return f"write {_forms(asked)} to `{self._file(asked)}`, then go on with `--continue`"

    def _file(self, asked: Asked) -> Path:
        return self.folder / f"{asked.id}.json"

    def _wrong(self, asked: Asked, why: str) -> InputError:
        return InputError(f"{self._file(asked)} holds no decision: {why}", hint=f"write {_forms(asked)}")

    def _ask(self, asked: Asked) -> None:
        file = str(self._file(asked))
        value = _Request(asked.id, asked.about, asked.text, asked.files, file, asked.answers)
        request = msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            replace_file(self.folder / f"{asked.id}.request.json", request)
        except OSError as error:
            raise InputError(f"{self.folder} cannot be written: {error.strerror}") from None


def _forms(asked: Asked) -> str:
    if asked.wants_words:
        return '{"answer": "say", "words": "…"}'
    return '{"answer": "approve"} or {"answer": "reject", "words": "…"}'
