"""What a log says: whether a path, id, number, command or instruction occurs in it, and in which entry first.

Rule: built once for a range, in time linear in its text. A name counts only as a whole, not as part
of a longer one; the characters on either side decide that, never a second search.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from holdfast.compaction.claims import HASH, Claim
from holdfast.compaction.instructions import JoinedTexts, Prose, plain_words
from holdfast.messages import Text, Thinking, ToolMessage, joined_text
from holdfast.tool_use import ToolUse, values_in
from holdfast.views.transcript import Item, Step, User

Edges = tuple[re.Pattern[str], re.Pattern[str]]
"""What must be true before and after a name for it to be a whole one, in lower case."""


def _edges(before: str, behind: str) -> Edges:
    return re.compile(before), re.compile(behind)


_PART = "[a-z0-9_]"
_NO_PART = f"(?<!{_PART})"
_NUMBER_BEGINS = rf"(?<!\d)(?<!\d\.)(?<!{_PART}[a-z0-9])"
"""Not in the middle of a number, or of a name."""
_PATH_ENDS = rf"(?!{_PART}|[-.]{_PART})"
NAME = _edges(_NO_PART, f"(?!{_PART})")
# A JSON text shows a line break as `\\n`, and the path after it.
PATH = _edges(r"(?<![a-z0-9_.@-])|(?<=\\[ntr])", _PATH_ENDS)
PATH_BEGINS = _edges(r"(?<![a-z0-9_.@/-])|(?<=\\[ntr])", _PATH_ENDS)
HASH_BEGINS = _edges(_NO_PART, f"[0-9a-f]*(?!{_PART})")
NUMBER = _edges(_NUMBER_BEGINS, r"(?!\d|\.\d|[a-z]{1,3}\d|[a-z]{4})")
ROUNDED = _edges(_NUMBER_BEGINS, r"(?!\d)")
ROUNDED_PART = _edges(_NUMBER_BEGINS, "")
"""A number with a point, and any more digits after it."""

MOST_LISTED = 500
"""Rows of a listing whose paths are put together."""
MAX_OCCURRENCES = 2_000
"""Occurrences of a name that are looked at; one with more is taken for a part of other names."""

REFUSED = "The user doesn't want to"
"""How Claude Code begins the result of a call that a person did not allow; their words follow."""

_SPACE = re.compile(r"\s+")
_CUT = re.compile(r"\s*(?:…|\.{3})\s*")
_ASKS = re.compile(r"ask_?user(?:_?questions?)?|ask_followup_question|request_user_input|exit_?plan_?mode")
_RULES = frozenset(("agents.md", "claude.md", "code_law.md"))
_DELEGATES = re.compile(
    r"(?i)(?:\b(?:execute|implement|follow|carry out|work through)\b|按照|执行|实现)"
    r"[^.!?。！？\n]{0,60}?([\w./~-]+\.\w{1,5})"
)

_TESTS = re.compile(
    r"(?i)\b(\d{1,6}) (?:tests? )?(?:passed|failed|passing|failing|failures?|errors?|skipped)\b"
)


class Evidence(Struct, frozen=True):
    """The log's texts in lower case with the entry of each, and the commands that were run."""

    all_text: JoinedTexts[str]
    commands: str
    user_prose: Prose
    """What users said."""
    agent_prose: Prose
    """What the agent said and wrote."""
    tool_prose: Prose
    """What tools returned."""

    @classmethod
    def of(cls, items: Sequence[Item], *, fixed_texts: Iterable[str] = ()) -> "Evidence":
        """What a range of a transcript says. `fixed_texts` are texts that hold throughout and count as the user's:
        system prompt, project rules, static context."""
        always = [*fixed_texts]
        all_text = [("", text) for text in always]
        user_prose = [(-1, text) for text in always]
        agent_prose: list[tuple[int, str]] = []
        tool_prose: list[tuple[int, str]] = []
        delegated = _delegated(items)
        for item in items:
            at = item.position
            if isinstance(item, User):
                user_prose.append((at, joined_text(item.message.parts)))
                all_text.append((item.entry, user_prose[-1][1]))
                continue
            written = [*_written(item)]
            all_text += [(item.entry, text) for text in written]
            agent_prose += [(at, text) for text in written]
            for call_id, result in item.results.items():
                text = result.text
                is_shell = item.uses[call_id].kind == "bash"
                totals = "".join(f"\n{total}" for total in _totals(text)) if is_shell else ""
                paths = "".join(f"\n{path}" for path in _listed_paths(item.uses[call_id], text))
                all_text.append((item.result_entries[call_id], text + totals + paths))
                is_users = _counts_as_user(item.uses[call_id], result, delegated)
                (user_prose if is_users else tool_prose).append((at, text))
        commands = (use.command for item in items if isinstance(item, Step) for use in item.uses.values())
        return cls._joined(all_text, commands, user_prose, agent_prose, tool_prose)

    @classmethod
    def of_texts(cls, texts: Iterable[str]) -> "Evidence":
        """What some texts say by themselves."""
        return cls._joined([("", text) for text in texts], (), (), (), ())

    @classmethod
    def _joined(
        cls,
        all_text: Iterable[tuple[str, str]],
        commands: Iterable[str],
        *prose: Iterable[tuple[int, str]],
    ) -> "Evidence":
        ran = "\n".join(dict.fromkeys(_single(command) for command in commands if command))
        return cls(
            JoinedTexts.of(all_text, str.lower), ran, *(Prose.of(texts, plain_words) for texts in prose)
        )

    def finds(self, claim: Claim) -> str | None:
        """The first entry that says what a claim names, or None; empty where it is no entry's."""
        match claim.kind:
            case "path":
                at = self._path(claim.text.lower())
            case "number":
                at = self._number(claim)
            case "command":
                return self._command(_single(claim.text))
            case _:
                is_hash = HASH.fullmatch(claim.text) is not None
                at = self._find_whole(claim.text.lower().rstrip("/"), HASH_BEGINS if is_hash else NAME)
        return None if at < 0 else self.all_text.place(at)

    def _find_whole(self, name: str, edges: Edges) -> int:
        """Where a name occurs as a whole; -1 where it does not."""
        text, (before, behind) = self.all_text.text, edges
        at = text.find(name)
        for _ in range(MAX_OCCURRENCES):
            if at < 0 or (before.match(text, at) and behind.match(text, at + len(name))):
                return at
            at = text.find(name, at + 1)
        return -1

    def _path(self, path: str) -> int:
        """A path, or some of its parts in a row; an absolute one may be a folder and what is known to lie below."""
        path = path.rstrip("/")
        while path.startswith(("./", "../")):
            path = path[path.index("/") + 1 :]
        at = self._find_whole(path, PATH)
        if at >= 0 or not path.startswith(("/", "~/")):
            return at
        for cut in (found.start() for found in re.finditer("/", path)):
            below = path[cut + 1 :]
            if cut and below and self._find_whole(path[:cut], PATH) >= 0:
                at = self._find_whole(below, PATH_BEGINS)
                if at >= 0:
                    return at
        return -1

    def _number(self, claim: Claim) -> int:
        number = claim.text.lower().removeprefix("v")
        digits = number.rstrip("abcdefghijklmnopqrstuvwxyz")
        spellings = [number, number.replace(",", ""), digits]
        if digits.isdecimal() and len(digits) < 16:
            spellings += [f"{int(digits):,}", f"{int(digits):_}"]
        is_rounded = claim.is_share or "." in number

        def edges(spelling: str) -> Edges:
            return (ROUNDED_PART if "." in spelling else ROUNDED) if is_rounded else NUMBER

        found = max(self._find_whole(spelling, edges(spelling)) for spelling in dict.fromkeys(spellings))
        return found if found >= 0 or digits.count(".") != 1 else self._rounded(digits)

    def _rounded(self, number: str) -> int:
        """Where a number is that was rounded to this one; -1 where there is none."""
        whole, _, rest = number.partition(".")
        exact = re.finditer(rf"(?<![\d.]){re.escape(whole)}\.\d{{1,12}}(?!\d)", self.all_text.text)
        return next((m.start() for m in exact if f"{float(m[0]):.{len(rest)}f}" == number), -1)

    def _command(self, command: str) -> str | None:
        """A command that was run or spoken of, whole or in part; what it leaves out is marked."""
        pieces = [piece for piece in _CUT.split(command) if piece]
        if all(piece in self.commands for piece in pieces):
            at = self.all_text.text.find(pieces[0]) if pieces else -1
            return self.all_text.place(at) if at >= 0 else ""
        found = [self._find_whole(piece, NAME) for piece in pieces]
        return None if -1 in found else self.all_text.place(found[0])


def _single(text: str) -> str:
    return _SPACE.sub(" ", text).strip().lower()


def _written(step: Step) -> Iterator[str]:
    """What the agent said, thought and handed to tools."""
    for part in step.message.parts:
        if isinstance(part, Text | Thinking):
            yield part.text
    for call in step.calls.values():
        yield call.name
        for key, value in values_in(call.arguments):
            yield f"{key}: {value}"


def _delegated(items: Sequence[Item]) -> frozenset[str]:
    """Names of files that the user told the agent to work through."""
    asked = (joined_text(item.message.parts) for item in items if isinstance(item, User))
    return frozenset(
        found[1].rsplit("/", 1)[-1].lower() for text in asked for found in _DELEGATES.finditer(text)
    )


def _counts_as_user(use: ToolUse, result: ToolMessage, delegated: frozenset[str]) -> bool:
    """Whether a result counts as the user's words: an answer to a question, the reason why a call was refused,
    project rules, a plan to carry out."""
    name = use.path.rsplit("/", 1)[-1].lower()
    is_answer = _ASKS.fullmatch(use.name.lower()) is not None or result.text.startswith(REFUSED)
    return is_answer or name in _RULES or name in delegated


def _listed_paths(use: ToolUse, result: str) -> Iterator[str]:
    """Paths that a listing shows in two halves: the folder it lists, and a name on each row."""
    if use.kind in ("ls", "glob"):
        words = [word for word in use.command.split()[1:] if not word.startswith("-")]
        folder = (use.path or (words[0] if words else "")).rstrip("/")
        rows = result.split("\n", MOST_LISTED)[:MOST_LISTED] if folder else ()
        yield from (f"{folder}/{row.split()[-1].rstrip('/*@')}" for row in rows if row.strip())


def _totals(output: str) -> Iterator[int]:
    """How many tests there were in all, where a row of output counts them apart."""
    for row in output.split("\n"):
        found = [int(number) for number in _TESTS.findall(row)]
        if len(found) > 1:
            yield sum(found)
