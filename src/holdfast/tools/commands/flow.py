"""What is known while a script runs: its folder, its variables, and what comes in through a pipe.

Rule: everything here is a set of possibilities that holds what really happens; `None` is "anything".
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from holdfast.tools.commands.fields import ANY, BELOW, QUIET, SMOOTH, SOLID, WILD, absolute, expand, is_plain
from holdfast.tools.commands.rules import Arguments, CommandRules, read_arguments
from holdfast.tools.commands.syntax import Command, Pipeline, Simple

MOST_FOLDERS = 8
NOTHING: dict[str, frozenset[str]] = {}

_SOME = frozenset({ANY})

Folders = frozenset[str] | None


class PipeInput(Struct, frozen=True):
    """What a command reads on its standard input: its text if known, whether it was fetched or decoded, and whether
    it is names of files."""

    text: str | None = None
    is_fetched: bool = False
    names: Names | None = None
    folders: Folders = None
    """Where the names were listed."""


class ScriptState(Struct, frozen=True):
    folders: Folders
    """Absolute folders that the shell may be in."""
    values: dict[str, frozenset[str]]
    functions: frozenset[str] = frozenset()
    feed: PipeInput | None = None
    previous: Folders = None
    """What `cd -` goes back to."""
    is_posix: bool = False
    """Whether the shell may be another than bash."""
    depth: int = 0
    """Scripts inside scripts, as in `sh -c`."""

    @property
    def names(self) -> Names | None:
        """Names of files that come in, where they still mean the same files."""
        feed = self.feed
        return feed.names if feed and self.folders is not None and feed.folders == self.folders else None

    def moved(self, folders: Folders) -> ScriptState:
        return replace(self, folders=folders, previous=self.folders)

    def lost(self) -> ScriptState:
        """Nothing is known of folder and variables any more."""
        return replace(self, folders=None, previous=None, values=NOTHING)

    def without(self, *names: str) -> ScriptState:
        return replace(self, values={k: v for k, v in self.values.items() if k not in names})


class ScriptOutcome(Struct, frozen=True):
    """What is known behind a command if it succeeded, and if it failed."""

    ok: ScriptState
    failed: ScriptState

    @property
    def either(self) -> ScriptState:
        return merged(self.ok, self.failed)


def same(state: ScriptState) -> ScriptOutcome:
    return ScriptOutcome(state, state)


def merged(one: ScriptState, other: ScriptState) -> ScriptState:
    """What is known if either holds."""
    if one is other:
        return one
    values = {
        name: either
        for name in one.values.keys() | other.values.keys()
        if len(either := one.values.get(name, _SOME) | other.values.get(name, _SOME)) <= MOST_FOLDERS
    }
    return ScriptState(
        folders=_either(one.folders, other.folders),
        values=values,
        functions=one.functions & other.functions,
        feed=one.feed,
        previous=_either(one.previous, other.previous),
        is_posix=one.is_posix,
        depth=max(one.depth, other.depth),
    )


def merged_outcomes(outcomes: list[ScriptOutcome]) -> ScriptOutcome:
    first, *others = outcomes
    for other in others:
        first = ScriptOutcome(merged(first.ok, other.ok), merged(first.failed, other.failed))
    return first


def _either(one: Folders, other: Folders) -> Folders:
    if one is None or other is None or len(one | other) > MOST_FOLDERS:
        return None
    return one | other


def below(folders: Folders, path: str) -> Folders:
    """Where a path leads from folders."""
    if path.startswith("/"):
        top = absolute(path, None)
        return None if top is None else frozenset({top})
    if folders is None:
        return None
    led = [absolute(path, folder) for folder in folders]
    return frozenset(place for place in led if place is not None) if None not in led else None


def name_of(path: str) -> str:
    return posixpath.basename(path.rstrip("/"))


# Commands that print the names of files: which names can come out of a pipeline.
#
# Rule: what is said of a command holds for every line that it can print; where that is not sure, nothing is said.

Values = dict[str, frozenset[str]]
_NOTHING: Values = {}


class Names(Struct, frozen=True):
    """Every line is a path below a folder. `is_bare` where it begins with a name, which may begin with a dash;
    `is_solid` where none is a link; `is_null` where NUL bytes part them."""

    folder: str
    is_bare: bool = False
    is_solid: bool = False
    is_null: bool = False
    ending: str = ""
    """What all of them end with."""

    def word(self, *, is_split: bool) -> str:
        """One name as a field. `is_split` where a program parts lines at blanks and reads quotes in them."""
        mark = SMOOTH if is_split or self.is_bare else BELOW
        kind = f"{mark}{SOLID if self.is_solid else ''}{self.ending}"
        return kind if self.is_bare else f"{self.folder.rstrip('/')}/{kind}"


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


class _Lister(Struct, frozen=True):
    """A program that prints names with any of the options `needs`, whatever of `allows` is there too."""

    needs: frozenset[str] = frozenset()
    allows: frozenset[str] = frozenset()
    null: frozenset[str] = frozenset()


_LISTERS = {
    "rg": _Lister(
        _set("-l --files-with-matches --files-without-match --files"),
        _set(
            "-g --glob --iglob -t --type -T --type-not -i --ignore-case -s --case-sensitive -S --smart-case -F"
        )
        | _set(
            "--fixed-strings -w --word-regexp -x --line-regexp -v --invert-match -e --regexp --hidden -. -P"
        )
        | _set("--no-ignore -u -uu --unrestricted -L --follow -U --multiline -d --max-depth --sort --sortr"),
        _set("-0 --null"),
    ),
    "grep": _Lister(
        _set("-l -L --files-with-matches --files-without-match"),
        _set(
            "-r -R --recursive -i --ignore-case -n --line-number -E -F -P -w -x -v -I -s -e --regexp --include"
        )
        | _set("--exclude --exclude-dir --extended-regexp --fixed-strings"),
        _set("-Z --null"),
    ),
    "fd": _Lister(
        allows=_set(
            "-e --extension -E --exclude -t --type -d --max-depth -H --hidden -I --no-ignore -i -s -g -F"
        )
        | _set("--glob -u --unrestricted -p --full-path --min-depth"),
        null=_set("-0 --print0"),
    ),
    "git ls-files": _Lister(
        allows=_set("-c --cached -m --modified -o --others -d --deleted --exclude-standard"), null=_set("-z")
    ),
    "git grep": _Lister(
        _set("-l -L --files-with-matches --files-without-match --name-only"),
        _set("-i --ignore-case -n --line-number -E -F -P -w -v -I -e --cached --untracked"),
        _set("-z --null"),
    ),
    "ls": _Lister(allows=_set("-1 -A -t -r -S -d --almost-all --reverse --sort --color=never")),
}
_LISTERS["fdfind"] = _LISTERS["fd"]
_TESTS = _set(
    "-name -iname -path -ipath -wholename -regex -iregex -type -xtype -size -empty -newer -mtime -mmin -ctime -cmin"
    " -atime -amin -maxdepth -mindepth -not -a -and -o -or -prune -print -print0 -perm -user -group -readable"
    " -writable -executable -depth -xdev -mount -true -false -regextype -newermt -links -inum -follow"
)
_SORTING = _set(
    "-u --unique -r --reverse -n --numeric-sort -f -V --version-sort -h -k --key -t --field-separator"
)
_CHOOSING = _set(
    "-v --invert-match -i --ignore-case -E -F -P -w -x -e --regexp -m --max-count --extended-regexp"
)
_ACTIONS = _set(
    "-exec -execdir -ok -okdir -print -print0 -printf -ls -delete -fprint -fprint0 -fprintf -fls -quit"
)
_JOINING = _set("-o -or , ( )")
_XARGS = _set("-0 -r -n -P")
_SUFFIX = re.compile(r"\*([\w.+-]+)", re.ASCII)
_NUMBER = re.compile(r"-\d+[a-zA-Z]?")
_COUNT = re.compile(r"-n \+?-?\d+|-n\+?\d+|-\d+|--lines=\+?-?\d+|")


def names_printed(pipeline: Pipeline, rules: CommandRules) -> Names | None:
    """The names that a whole pipeline prints, where it prints nothing else."""
    names: Names | None = None
    for number, command in enumerate(pipeline.commands):
        names = names_behind(command, names, rules) if number == 0 or names else None
    return names


def names_behind(command: Command, before: Names | None, rules: CommandRules) -> Names | None:
    """The names that a command prints: by itself, or as some of those that it reads."""
    if not isinstance(command, Simple) or command.assignments or not command.words:
        return None
    # Of streams that are joined, errors would be names too; what a file gives is not what the pipe did.
    if any(redirect.operator not in (">", ">>") for redirect in command.redirects):
        return None
    fields = expand(command.words, _NOTHING, QUIET)
    if before and fields[0] in ("xargs", "gxargs"):
        return _chosen(fields[1:], before, rules)
    name = " ".join(fields[:2]) if fields[0] == "git" else fields[0]
    if before and name in _FILTERS:
        return before if not before.is_null and _FILTERS[name](fields, rules) else None
    if name in ("find", "gfind"):
        return _found(fields[1:])
    return _listed(name, fields[name.count(" ") + 1 :], rules) if name in _LISTERS else None


def _chosen(words: Sequence[str], before: Names, rules: CommandRules) -> Names | None:
    """`xargs grep -l`: some of the names that came in."""
    at = 0
    while at < len(words) and words[at] in _XARGS:
        at += 1 + (words[at] in ("-n", "-P"))
    if words[at : at + 1] != ["grep"] or ("-0" in words[:at]) != before.is_null:
        return None
    arguments, names = _read(words[at:], rules), _listed("grep", words[at + 1 :], rules)
    text = 0 if any(option.name in ("-e", "--regexp") for option in arguments.options) else 1
    if names is None or len(arguments.operands) != text or arguments.has("follows"):
        return None
    return replace(before, is_null=names.is_null)


def found_names(words: Sequence[str], start: str) -> Names:
    """The names that `find` finds from one of its starting points, by the tests before its first action."""
    action = next((at for at, word in enumerate(words) if word in _ACTIONS), len(words))
    tests, before = words[:action], ("", *words[:action])
    ending, is_solid = "", False
    if not _JOINING.intersection(tests):
        for previous, test, value in zip(before, tests, [*tests[1:], ""], strict=False):
            is_plainly = previous not in ("!", "-not")
            ending = _ending(value) if test == "-name" and is_plainly else ending
            is_solid |= test == "-type" and value == "f" and is_plainly
    is_solid = is_solid and "-L" not in words and "-follow" not in words
    return Names(start, is_solid=is_solid, ending=ending)


def _ending(pattern: str) -> str:
    found = _SUFFIX.fullmatch(pattern.replace(WILD, "*"))
    return found[1] if found else ""


def _found(words: Sequence[str]) -> Names | None:
    """`find`: its starting points stand before all that it prints, unless it prints something else."""
    at = 0
    while at < len(words) and words[at] in ("-H", "-L", "-P"):
        at += 1
    starts = list[str]()
    while at < len(words) and not words[at].startswith(("-", "(", "!")):
        starts.append(words[at])
        at += 1
    tests = [word for word in words[at:] if word.startswith("-") and not _NUMBER.fullmatch(word)]
    if not all(map(is_plain, words)) or not _TESTS.issuperset(tests):
        return None
    if "-print" in tests and "-print0" in tests:
        return None
    start = _start(starts or ["."])
    return replace(found_names(words, start), is_null="-print0" in tests) if start else None


def _listed(name: str, rest: Sequence[str], rules: CommandRules) -> Names | None:
    lister, spec = _LISTERS[name], rules.specs[name]
    arguments, _ = read_arguments(rest, spec, rules.effects[name])
    options = {option.name for option in arguments.options}
    if arguments.loose or (lister.needs and not options & lister.needs):
        return None
    if not options <= lister.needs | lister.allows | lister.null:
        return None
    instead = spec.instead.split()
    text = 0 if any(option.name in instead for option in arguments.options) else spec.text
    places = arguments.operands[text:]
    globs = [option.value for option in arguments.options if option.name in ("-g", "--glob", "--include")]
    # Links are neither searched nor listed by these, unless they are told to.
    is_solid = (
        name in ("rg", "grep") and not options & {"-L", "--follow", "-R"} and all(map(is_plain, places))
    )
    names = Names(
        ".",
        is_bare=True,
        is_solid=is_solid and not (name == "grep" and places and "-r" not in options),
        is_null=bool(options & lister.null),
        ending=_ending(globs[0]) if len(globs) == 1 else "",
    )
    if name == "ls" or name.startswith("git "):
        # Names without the folder that `ls` was given, and patterns of Git's own.
        ending = _ending(places[0]) if len(places) == 1 else ""
        return replace(names, ending=ending) if all(map(_stays, places)) else None
    if not places or not all(map(is_plain, places)):
        return names if all(map(_stays, places)) else None
    start = _start(places)
    return replace(names, folder=start, is_bare=False) if start else None


def _start(places: Sequence[str]) -> str:
    """The folder that all of the places lie in; empty where there is none."""
    if any(place.startswith("-") for place in places):
        return ""
    return places[0] if len(places) == 1 else "." if all(map(_stays, places)) else ""


def _stays(place: str) -> bool:
    """Whether a path stays below the folder it starts from, also where it has a pattern in it."""
    return is_plain(place.replace(WILD, "x")) and not place.startswith("/") and ".." not in place


def _is_count(fields: Sequence[str], _: CommandRules) -> bool:
    return bool(_COUNT.fullmatch(" ".join(fields[1:])))


def _is_alone(fields: Sequence[str], _: CommandRules) -> bool:
    return len(fields) == 1


def _is_order(fields: Sequence[str], rules: CommandRules) -> bool:
    arguments = _read(fields, rules)
    return not arguments.operands and _SORTING.issuperset(option.name for option in arguments.options)


def _is_once(fields: Sequence[str], _: CommandRules) -> bool:
    return all(word in ("-u", "-d", "-i") for word in fields[1:])


def _is_choice(fields: Sequence[str], rules: CommandRules) -> bool:
    arguments = _read(fields, rules)
    options = {option.name for option in arguments.options}
    patterns = 0 if options & {"-e", "--regexp"} else 1
    return len(arguments.operands) == patterns and options <= _CHOOSING and not arguments.unsure


def _read(fields: Sequence[str], rules: CommandRules) -> Arguments:
    return read_arguments(fields[1:], rules.specs[fields[0]], rules.effects[fields[0]])[0]


_FILTERS: dict[str, Callable[[Sequence[str], CommandRules], bool]] = {
    "head": _is_count,
    "tail": _is_count,
    "cat": _is_alone,
    "tac": _is_alone,
    "sort": _is_order,
    "uniq": _is_once,
    "grep": _is_choice,
    "egrep": _is_choice,
    "fgrep": _is_choice,
}
