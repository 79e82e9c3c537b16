"""What the rule half of a summary knows: facts of the log, each with the entries it came from.

Rule: a fact quotes or counts what the log holds and adds nothing. What a quotation leaves out is marked, with an
id.
"""

from typing import Literal

from msgspec import Struct

from holdfast.ids import text_id
from holdfast.packing.rendering.marks import mark, one_line

FileAction = Literal["read", "created", "modified", "deleted"]


class Fact(Struct, frozen=True):
    """A line, verbatim where it quotes, and the entries it came from."""

    text: str
    sources: tuple[str, ...]
    step: int = -1
    """The step it came from, counted from 0; -1 where it came from none."""


class FileFact(Struct, frozen=True):
    """What was done with a file, the strongest last: a file that was read and then modified is modified.

    `ranges` are lines that were read, from 1, such as `1-80,120-160`; empty where the whole was, or nothing.
    """

    path: str
    action: FileAction
    sources: tuple[str, ...]
    ranges: str = ""
    step: int = -1
    """The step that touched it last."""


class CommandFact(Struct, frozen=True):
    """A command as it was run. `exit_code` is None where its result does not say."""

    command: str
    exit_code: int | None
    is_failed: bool
    sources: tuple[str, ...]
    step: int = -1
    outcome: str = ""
    """The line of its output that tells most, such as a count of tests or the error."""


class TestState(Struct, frozen=True):
    """The last test run: what it was, whether it passed, and its own words."""

    command: str
    is_passed: bool
    outcome: str
    sources: tuple[str, ...]
    step: int = -1


class HandoverFacts(Struct, frozen=True):
    """A typed handover: `rate` is how many samples passed, such as `12/15 (80%)`, `failed` how many did not; the
    rest says where outputs and report are, and which iteration it is."""

    iteration: Fact | None = None
    output_dir: Fact | None = None
    report: Fact | None = None
    problems: tuple[Fact, ...] = ()
    rate: Fact | None = None
    failed: Fact | None = None


class LogFacts(Struct, frozen=True, kw_only=True):
    """Everything the rule half extracts from a range of the log, each list in the order of the log."""

    goal: Fact | None = None
    """The first request, verbatim."""
    latest: Fact | None = None
    """The latest request, verbatim; None where it is the first."""
    directives: tuple[Fact, ...] = ()
    withdrawn: tuple[Fact, ...] = ()
    """Directives that the user took back."""
    """What the user demanded or forbade, verbatim, a sentence each."""
    files: tuple[FileFact, ...] = ()
    commands: tuple[CommandFact, ...] = ()
    tests: TestState | None = None
    errors: tuple[Fact, ...] = ()
    """Errors that nothing since has resolved."""
    attempts: tuple[Fact, ...] = ()
    """What was tried and failed."""
    decisions: tuple[Fact, ...] = ()
    todos: tuple[Fact, ...] = ()
    """Open ones; each says whether it is in progress."""
    recap: tuple[Fact, ...] = ()
    """Lines of the recap, such as findings, as it was at the end of the range."""
    keys: tuple[Fact, ...] = ()
    """Paths and ids that lead back to large content."""
    handover: HandoverFacts = HandoverFacts()
    """What another agent handed over last."""
    earlier: dict[str, tuple[Fact, ...]] = {}
    """What a model wrote in the summary before, by the form's fields, where the new one takes its place."""
    last_said: Fact | None = None
    """The last thing the agent said: where it left off."""
    is_archive: bool = False
    """Whether they are for an archive, which holds completed work only."""


LONGEST_QUOTE = 2_000
"""Characters of a message that is quoted whole."""
LONGEST_HEAD = 600
"""Characters of the first lines that are quoted of a longer one."""
LONGEST_LINE = 300
"""Characters of a quoted line; a line is cut at its end, with an ellipsis."""


def quote_text(text: str, *, id_: str = "") -> str:
    """A text, or its first lines and the id of the whole. `id_` is of the text that this one is a part of."""
    whole = text.strip()
    if len(whole) <= LONGEST_QUOTE:
        return whole
    head = whole[:LONGEST_HEAD]
    cut = head.rfind("\n")
    head = head[:cut] if cut > LONGEST_HEAD // 3 else head
    return f"{head.rstrip()}\n{mark(f'{len(whole) - len(head)} further characters', id_ or text_id(text))}"


def clip_line(text: str, most: int = LONGEST_LINE) -> str:
    """A text on one line, cut at its end."""
    line = one_line(text)
    return line if len(line) <= most else f"{line[: most - 1]}…"
