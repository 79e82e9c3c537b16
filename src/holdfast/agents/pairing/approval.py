"""Who approves of a design, and answers what only a person can: a rule, or files; a terminal has its own.

Rule: what nobody has decided is not decided: the work stops there and can be gone on with. No agent can write an
approval, since the files lie outside the folder that agents work in.
"""

from pathlib import Path
from typing import Literal, Protocol

import msgspec
from msgspec import Struct

from holdfast.errors import InputError
from holdfast.pair.layout import replace_file
from holdfast.pair.phases import Asked, Decided


class Approvals(Protocol):
    """**Contract:** None where nobody can decide it now."""

    async def decide(self, asked: Asked) -> Decided | None: ...

    def how(self, asked: Asked) -> str:
        """How a person gets it decided, for a hint."""
        ...


class Auto(Struct, frozen=True):
    """Every design is approved, and it goes on with summaries by rule; questions stay open, and agents see them."""

    async def decide(self, asked: Asked) -> Decided | None:
        return (
            Decided(asked.id, "approve", by="the policy `auto`")
            if asked.about in ("design", "summary")
            else None
        )

    def how(self, asked: Asked) -> str:  # noqa: ARG002 - it is the same for all
        return "go on with `--continue --approve ask`"


class _Answer(Struct, frozen=True, forbid_unknown_fields=True):
    answer: Literal["approve", "reject", "say"]
    words: str = ""


class FromFile(Struct, frozen=True):
    """`ID.json` in a folder holds `{"answer": "approve"}` or `{"answer": "reject", "words": "why"}`, for a question
    `{"answer": "say", "words": "the answer"}`; what is asked stands beside it in `ID.request.json`."""

    folder: Path

    async def decide(self, asked: Asked) -> Decided | None:
        file = self.folder / f"{asked.id}.json"
        self._ask(asked)
        try:
            answer = msgspec.json.decode(file.read_bytes(), type=_Answer)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"the decision {file} cannot be read: {error.strerror}") from None
        except msgspec.MsgspecError as error:
            hint = 'write {"answer": "approve"}, or {"answer": "reject", "words": "why"}'
            raise InputError(f"{file} holds no decision: {error}", hint=hint) from None
        return Decided(asked.id, answer.answer, answer.words, by="a file")

    def how(self, asked: Asked) -> str:
        return (
            f'write {{"answer": "approve"}} or {{"answer": "reject", "words": "…"}} to '
            f"`{self.folder / asked.id}.json`, then go on with `--continue`"
        )

    def _ask(self, asked: Asked) -> None:
        request = msgspec.json.format(msgspec.json.encode(asked), indent=2) + b"\n"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            replace_file(self.folder / f"{asked.id}.request.json", request)
        except OSError as error:
            raise InputError(f"{self.folder} cannot be written: {error.strerror}") from None
