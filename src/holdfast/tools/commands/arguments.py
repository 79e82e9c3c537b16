"""A program's arguments, read by its rule: options and what they do, operands and what becomes of them.

Rule: an argument that might be an option is treated as the worst one it could be; abbreviations of long options and
clusters of short ones count as the options they hold.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field

from holdfast.tools.commands.fields import EVEN, HOME, SMOOTH, WILD, is_known, is_plain, may_be_option
from holdfast.tools.commands.rules import Spec

_NUMBER = re.compile(r"-\d+")
_TAKING = frozenset({"takes", "reads", "writes", "folder"})
"""Lists whose options have a value."""
_HARMFUL = frozenset({"writes", "folder", "asks", "denies", "recursive"})


class Option(Struct, frozen=True, gc=False):
    name: str
    effect: str
    """The list it stands in; `unknown` for none where all are listed."""
    word: str
    value: str = ""


class Arguments(Struct):
    options: list[Option] = field(default_factory=list)
    operands: list[str] = field(default_factory=list)
    unsure: list[str] = field(default_factory=list)
    """Words that might be options of harm."""
    loose: list[str] = field(default_factory=list)
    """Words that stand in options no list has, and may be files that are read."""

    def has(self, *effects: str) -> bool:
        return any(option.effect in effects for option in self.options)


def read_arguments(
    words: Sequence[str], spec: Spec, effects: Mapping[str, str], *, stops: bool = False
) -> tuple[Arguments, int]:
    """The arguments, and how many words they are. With `stops`, options end at the first operand."""
    found, at = Arguments(), 0
    harms = bool(_HARMFUL & set(effects.values()))
    while at < len(words):
        word = words[at]
        if word == "--":
            found.operands += words[at + 1 :]
            return found, at + 1 if stops else len(words)
        if len(word) > 1 and word.startswith("-"):
            following = words[at + 1] if at + 1 < len(words) else ""
            at += _read_option(found, word, following, spec, effects)
        elif stops:
            return found, at
        else:
            # The name of a file holds no path of another, so as an option it only switches something.
            if may_be_option(word) and (harms or (spec.flags and not word.startswith((WILD, EVEN, SMOOTH)))):
                found.unsure.append(word)
            found.operands.append(word)
        at += 1
    return found, at


def _read_option(found: Arguments, word: str, following: str, spec: Spec, effects: Mapping[str, str]) -> int:
    """How many words behind it belong to an option."""
    if not is_plain(word.split("=", 1)[0]):
        found.unsure.append(word)
        return 0
    options = list(_long(word, spec, effects) if word.startswith("--") else _short(word, spec, effects))
    used = 0
    for name, effect, attached in options:
        value = attached
        if effect in _TAKING and attached is None:
            value, used = following, 1
        elif attached and effect == "flags":
            found.loose.append(attached)
        found.options.append(Option(name, effect, word, value or ""))
    return used


def _long(word: str, spec: Spec, effects: Mapping[str, str]) -> Iterator[tuple[str, str, str | None]]:
    name, equals, value = word.partition("=")
    attached = value if equals else None
    if name in effects:
        yield name, effects[name], attached
        return
    if spec.flags:
        yield name, "unknown", attached
        return
    # Getopt takes any beginning of a long option for the whole.
    meant = [option for option in effects if option.startswith(name)]
    for option in meant:
        yield option, effects[option], attached
    if not meant:
        yield name, "flags", attached


def _short(word: str, spec: Spec, effects: Mapping[str, str]) -> Iterator[tuple[str, str, str | None]]:
    if word in effects:  # also of programs that write long options with one dash
        yield word, effects[word], None
        return
    name, equals, value = word.partition("=")
    if equals and name in effects and len(name) > 2:
        yield name, effects[name], value
        return
    if _NUMBER.fullmatch(word):
        yield word, "flags", None
        return
    for at, letter in enumerate(word[1:], 2):
        option = "-" + letter
        effect = effects.get(option, "unknown" if spec.flags and not letter.isdigit() else "flags")
        if effect in _TAKING:
            yield option, effect, word[at:] or None
            return
        yield option, effect, None
    if any(mark in word for mark in ("/", "..", HOME)) or not is_known(word):
        yield word[:2], "flags", word[2:]
