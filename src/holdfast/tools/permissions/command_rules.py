"""A person's rules for commands: `Bash(npm test:*)`, `Bash(make lint)`, `Bash(npm install:*) with network`.

Rule: a rule that allows covers a command only if every simple command in it is covered or only reads. A rule that
denies or asks finds its words wherever they are written plainly, in quotes and behind other programs too. It
guards against mistakes; what must not happen is held by the sandbox.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from holdfast.errors import ConfigError
from holdfast.tools.access import LEVELS, Access, is_above
from holdfast.tools.permissions.plain_commands import NotPlainError, PlainCommand, split_commands
from holdfast.tools.permissions.reading_commands import program_list, why_not_reading_one

_FORM = re.compile(r"Bash(?:\((.*)\))?(?:\s+with\s+(\S+))?", re.DOTALL)
_REST = re.compile(r"(?::|[ \t]+)\*$")
_ROUGH_TOKEN = re.compile(r"[|&;\n(){}<>`]+|[^\s|&;(){}<>`]+")
_QUOTES = re.compile(r"\\\n|[\\'\"]")


class CommandRule(Struct, frozen=True):
    """Words that a command is or, with `is_prefix`, begins with; no words for every command."""

    words: tuple[str, ...]
    is_prefix: bool
    text: str
    access: Access | None = None
    """What it allows a command to touch; None for what commands usually may."""

    def covers(self, command: PlainCommand) -> bool:
        """Whether it allows a simple command."""
        own = command.words[: len(self.words)] if self.is_prefix else command.words
        return tuple(word.text for word in own) == self.words and not any(word.has_glob for word in own)

    def finds(self, command: str) -> str:
        """The part of any text that it denies or asks about; empty if there is none."""
        if not self.words:
            return command
        try:
            return next((one.text for one in split_commands(command) if self._is_in(one.texts, one)), "")
        except NotPlainError:
            return next((" ".join(words) for words in _rough_words(command) if self._is_in(words)), "")

    def _is_in(self, words: Sequence[str], command: PlainCommand | None = None) -> bool:
        # Text that a program only reads, such as what `grep` looks for, is no command.
        is_text = command and words[0] not in program_list("wrappers") and not why_not_reading_one(command)
        if is_text and words[0] != "find":
            return self._ends(words, 0)
        inner = [word for one in words for word in one.split()] if command else words
        return any(self._ends(inner, start) for start in range(len(inner)))

    def _ends(self, words: Sequence[str], start: int) -> bool:
        end = self._end(words, start)
        return bool(end) and (self.is_prefix or end == len(words))

    def _end(self, words: Sequence[str], start: int) -> int:
        """Where the rule's words end that begin at `start`, with other options between them; 0 if they do not."""
        at = start
        for number, wanted in enumerate(self.words):
            if number:
                at = _skip_options(words, at, wanted)
            if at == len(words) or not _is_same(words[at], wanted, is_program=not number):
                return 0
            at += 1
        return at


def parse_command_rule(text: str, where: str) -> CommandRule:
    """A rule as people write it, or an error that says what is wrong with it."""
    form = _FORM.fullmatch(text.strip())
    if not form:
        raise ConfigError(
            f"{where}: `{text}` is not a rule", hint="write `Bash(git show:*)` or `Bash(make test)`"
        )
    if form[2] not in (None, "network", "full"):
        raise ConfigError(
            f"{where}: `{text}` can only end in `with network` or `with full`",
            hint="without either it holds for what commands may usually touch",
        )
    access: Access | None = next((level for level in LEVELS if level == form[2]), None)
    inner = (form[1] if form[1] is not None else "*").strip()
    if inner == "*":
        return CommandRule((), True, text.strip(), access)
    rest = _REST.search(inner)
    words = _words(inner[: rest.start()] if rest else inner, f"{where}: `{text}`")
    return CommandRule(words, rest is not None, text.strip(), access)


class CommandGrant(Struct, frozen=True):
    """What rules allow a command to touch, and the rule that decided."""

    access: Access
    rule: str


def find_grant(
    rules: Sequence[CommandRule], command: str, *, usual: Access, reads: Callable[[PlainCommand], bool]
) -> CommandGrant | None:
    """None if the rules do not allow a command. `reads` says whether a plain command that no rule covers only
    reads. Of several commands, the one that may touch least decides."""
    grants = [CommandGrant(_level(rule, usual), rule.text) for rule in rules]
    for_every_command = [grant for grant, rule in zip(grants, rules, strict=True) if not rule.words]
    try:
        commands = split_commands(command)
    except NotPlainError:
        return max(for_every_command, key=_rank, default=None)
    found: list[CommandGrant] = []
    for one in commands:
        own = [grant for grant, rule in zip(grants, rules, strict=True) if rule.words and rule.covers(one)]
        if given := [*for_every_command, *own]:
            found.append(max(given, key=_rank))
        elif not reads(one):
            return None
    return min(found, key=_rank, default=None)


def _level(rule: CommandRule, usual: Access) -> Access:
    return rule.access if rule.access and is_above(rule.access, usual) else usual


def _rank(grant: CommandGrant) -> int:
    return LEVELS.index(grant.access)


def _words(command: str, where: str) -> tuple[str, ...]:
    try:
        commands = split_commands(command)
    except NotPlainError as error:
        raise ConfigError(
            f"{where} cannot be read as a command: {error}",
            hint="a rule is plain words, with `:*` at the end for more of them",
        ) from error
    if len(commands) > 1:
        raise ConfigError(
            f"{where} should name one command",
            hint="commands joined by `|`, `&&` or `;` are checked one by one, so each has its own rule",
        )
    if any(word.has_glob for word in commands[0].words):
        raise ConfigError(
            f"{where} contains a wildcard (`*`, `?` or `[`)",
            hint="a rule is plain words, with `:*` at the end for more of them",
        )
    return tuple(commands[0].texts)


def _rough_words(text: str) -> Iterator[list[str]]:
    """The words of a text as they are written, without quotes, parted where a command may begin."""
    words: list[str] = []
    for token in _ROUGH_TOKEN.findall(_QUOTES.sub(lambda found: " " if "\n" in found[0] else "", text)):
        if token[0] in "|&;\n(){}<>`":
            yield words
            words = []
        else:
            words.append(token)
    yield words


def _skip_options(words: Sequence[str], at: int, wanted: str) -> int:
    """Past options that stand before a word of the rule, each with at most one value: `git -C there push`."""
    while at < len(words) and words[at].startswith("-") and words[at] != wanted:
        at += 1
        if at < len(words) and words[at] != wanted and not words[at].startswith("-"):
            at += 1
    return at


def _is_same(word: str, wanted: str, *, is_program: bool) -> bool:
    """A program is the same under its whole path."""
    return word == wanted or (is_program and "/" not in wanted and word.rpartition("/")[2] == wanted)
