"""Own commands: `/name arguments` of a person or a project, written as Markdown files.

Rule: a command is text that the person sends, and nothing more: commands of a shell in it are not run, the tools
that it names are not allowed by it, and a built-in command of the same name wins.
"""

from collections.abc import Sequence
from functools import partial

from msgspec import Struct

from holdfast.agents.prompt_files import PromptFile, PromptFolder, read_prompt_files
from holdfast.effort import Effort, parse_effort
from holdfast.errors import ConfigError, InputError
from holdfast.tools.skill import INLINE_COMMAND, LONGEST_TEXT, FilledTextTooLong, fill_placeholders
from holdfast.tools.skill_files import (
    FrontmatterError,
    FrontmatterField,
    first_paragraph,
    in_one_line,
    read_checked,
    read_text,
    read_texts,
)

LONGEST_ABOUT = 100
BUILT_IN = frozenset(
    """
    clear compact context cost diff effort exit export fork help init jobs mode model permissions quit recall
    resume rewind todos undo view
    """.split()
)
"""Names that no file can have."""


class OwnCommand(Struct, frozen=True):
    name: str
    about: str
    shown: str
    """The path of its file."""
    body: str
    hint: str = ""
    folder: str = ""
    allowed_tools: tuple[str, ...] = ()
    model: str = ""
    effort: Effort | None = None

    @property
    def usage(self) -> str:
        return f"/{self.name} {self.hint}".rstrip()

    def expand(self, arguments: str) -> str:
        """What is said for it. `$1` is the first argument, as in a shell; in a file that uses `$0` that one is."""
        first = 0 if "$0" in self.body else 1
        try:
            text = fill_placeholders(self.body, arguments, (), self.folder, first)
        except FilledTextTooLong:
            raise InputError(
                f"with these arguments `/{self.name}` has more than {LONGEST_TEXT} characters",
                hint="give it shorter arguments",
            ) from None
        return "\n\n".join([text, *self._remarks()])

    def _remarks(self) -> list[str]:
        remarks = []
        if INLINE_COMMAND.search(self.body):
            remarks.append("Commands written as !`…` were not run; run those whose output you need.")
        if self.allowed_tools:
            remarks.append(
                f"Tools it is written for, as far as they are allowed: {', '.join(self.allowed_tools)}."
            )
        return ["\n".join(remarks)] if remarks else []


class OwnCommands:
    """The commands of some folders, read again by `refresh`."""

    def __init__(self, folders: Sequence[PromptFolder]) -> None:
        self._folders = folders
        self.by_name: dict[str, OwnCommand] = {}
        self.warnings: tuple[str, ...] = ()
        self.refresh()

    def refresh(self) -> None:
        files, warnings = read_prompt_files(self._folders)
        self.by_name = {}
        for file in sorted(files, key=lambda file: file.name):
            if file.name in BUILT_IN:
                warnings.append(f"{file.shown}: `/{file.name}` is built in, so the file is not used")
                continue
            made = read_checked(file.path, partial(_command, file))
            if isinstance(made, str):
                warnings.append(f"{made}; the command is left out")
            else:
                self.by_name[made.name] = made
        self.warnings = tuple(warnings)

    def find(self, name: str) -> OwnCommand | None:
        """The command with this name; the folders that it is in may be left out if only one has it."""
        name = name.lower()
        last = [one for one in self.by_name.values() if one.name.rpartition(":")[2] == name]
        return self.by_name.get(name) or (last[0] if len(last) == 1 and name not in BUILT_IN else None)

    def parse(self, line: str) -> tuple[OwnCommand, str] | None:
        """The command of a line such as `/name arguments`, if it is one."""
        if not line.strip().startswith("/"):
            return None
        head, *arguments = line.strip().split(maxsplit=1)
        self.refresh()
        command = self.find(head[1:])
        return (command, "".join(arguments)) if command else None


def _command(file: PromptFile) -> OwnCommand:
    field = file.document.field
    if not file.document.body.strip():
        raise FrontmatterError(1, "there is no text below the head")
    about = " ".join((read_text(field("description")) or first_paragraph(file.document.body)).split())
    about = in_one_line(about).replace("`", "'")
    return OwnCommand(
        name=file.name,
        about=about if len(about) <= LONGEST_ABOUT else f"{about[:LONGEST_ABOUT]}…",
        shown=file.shown,
        body=file.document.body,
        # `argument-hint: [file] [lines]` looks like a list but is meant literally.
        hint=in_one_line(field("argument-hint").first)[:60].replace("`", "'"),
        folder=str(file.path.parent),
        allowed_tools=tuple(in_one_line(one) for one in read_texts(field("allowed-tools"))),
        model=in_one_line(read_text(field("model")))[:80],
        effort=read_effort(field("effort")),
    )


def read_effort(field: FrontmatterField) -> Effort | None:
    try:
        return parse_effort(read_text(field), "`effort`")
    except ConfigError as error:
        raise FrontmatterError(field.line, error.message) from None
