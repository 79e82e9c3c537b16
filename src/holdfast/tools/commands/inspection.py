"""What was found in a command, and what a person's rules make of it.

Rule: the worst finding decides. A person's allow lifts a finding about the command itself, about a file of the
workspace that it writes, or about a word that the pattern names; what else a command does needs a pattern that
names it whole.

A command is judged by the rule of its program: what no rule knows is asked about, and every file that an argument
could name is checked. A variable that other programs read is asked about, unless it is known to be harmless.
"""

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from holdfast.tools.commands.fields import (
    ANY,
    BELOW,
    EVEN,
    FETCHED,
    HOME,
    MANY,
    SMOOTH,
    SOLID,
    WILD,
    CommandRoots,
    is_plain,
    places_of,
)
from holdfast.tools.commands.flow import (
    Folders,
    ScriptOutcome,
    ScriptState,
    below,
    merged,
    name_of,
    same,
)
from holdfast.tools.commands.rules import (
    SEVERITY,
    Arguments,
    CommandRules,
    Pattern,
    Spec,
    Verdict,
    read_arguments,
)

LONGEST_PART = 200
_SHOWN = str.maketrans(
    {WILD: "*", EVEN: "*", ANY: "…", MANY: "…", FETCHED: "", BELOW: "…", SMOOTH: "…", SOLID: "", HOME: "~"}
)


class CommandFinding(Struct, frozen=True):
    verdict: Verdict
    reason: str
    part: str
    word: str = ""
    """The argument at fault; empty where the program itself is."""
    is_own_work: bool = False
    """A file of the workspace is written, which is what a command is allowed for."""
    is_fixed: bool = False
    """A person's own rule, which no other one lifts."""
    is_hidden: bool = False
    """Something runs that is not seen, and might be what a rule denies: only a pattern for the whole lifts it."""


class Inspection(Struct):
    """One judging under way: the rules, and everything found so far."""

    rules: CommandRules
    ground: CommandRoots
    run_text: "Callable[[Inspection, str, ScriptState, str], ScriptOutcome]"
    """Judges a text that is run as a script."""
    run_fields: "Callable[[Inspection, Sequence[str], ScriptState, str], ScriptOutcome]"
    """Judges the fields of a command."""
    findings: list[CommandFinding] = field(default_factory=list)
    steps: int = 0
    """Commands looked at so far."""

    def add(
        self, verdict: Verdict, reason: str, part: str, word: str = "", *, is_own_work: bool = False
    ) -> None:
        if verdict != "allow":
            self.findings.append(CommandFinding(verdict, reason, part, word, is_own_work))

    def hide(self, reason: str, part: str) -> None:
        """Something runs that cannot be seen beforehand."""
        self.findings.append(CommandFinding("ask", reason, part, is_hidden=True))

    def touch(self, kind: str, path: str, folders: Folders, part: str) -> None:
        """A file that is read, written or deleted, from any of the folders."""
        verdicts = self.rules.places[kind]
        places = {place for folder in folders or (None,) for place in places_of(path, folder, self.ground)}
        worst = max(sorted(places), key=lambda place: SEVERITY[verdicts[place]])
        why = self.rules.why
        reason = f"it {why[kind]} `{shown(path)}`, {why[worst]}"
        is_own_work = kind in ("write", "write_all") and places == {"inside"}
        self.add(verdicts[worst], reason, part, path or '""', is_own_work=is_own_work)

    def is_sure(self, field: str, folders: Folders) -> bool:
        """Whether names of files that a field stands for are what its marks say."""
        paths = [posixpath.join(folder, field) for folder in folders or ()]
        return bool(paths) and all(self.ground.follow(path) is not None for path in paths)

    def touch_below(self, paths: Sequence[str], folders: Folders, part: str) -> None:
        """Everything below is read, and links there are followed."""
        for path in paths:
            self.touch("read", f"{path.rstrip('/')}/{BELOW}", folders, part)

    def apply(self, start: int, words: Sequence[str], part: str, others: Sequence[Sequence[str]]) -> None:
        """A person's rules on the findings from `start` on, which are those of a command. `others` are further
        forms of its words, which deny and ask rules look at too."""
        own = [finding for finding in self.findings[start:] if not self._is_lifted(finding, words)]
        forms = [words, *others]
        hits = [pattern for pattern in self.rules.deny if any(map(pattern.matches, forms))]
        asked = [pattern for pattern in self.rules.ask if any(map(pattern.matches, forms))]
        own += [
            CommandFinding("deny", f"the rule `{hit.text}` denies it", part, is_fixed=True) for hit in hits
        ]
        own += [
            CommandFinding("ask", f"the rule `{hit.text}` asks about it", part, is_fixed=True)
            for hit in asked
        ]
        self.findings[start:] = own

    def _is_lifted(self, finding: CommandFinding, words: Sequence[str]) -> bool:
        if finding.is_fixed:
            return False
        for pattern in self.rules.allow:
            if not pattern.matches(words):
                continue
            if pattern.is_whole or (_names(pattern, finding) and not finding.is_hidden):
                return True
        return False

    def nest(self, start: int, program: str) -> None:
        """Findings of an inner command, as those of the command that runs it: they are about a word of it."""
        self.findings[start:] = [
            finding if finding.word else replace(finding, word=program) for finding in self.findings[start:]
        ]


class ArgumentReader(Protocol):
    """Reads the arguments of one program where its options do not say it all."""

    def __call__(
        self, inspection: Inspection, words: Sequence[str], state: ScriptState, part: str
    ) -> ScriptOutcome: ...


def _names(pattern: Pattern, finding: CommandFinding) -> bool:
    if finding.verdict != "ask":
        return False
    return pattern.is_everything or not finding.word or finding.is_own_work or finding.word in pattern.words


def shown(text: str) -> str:
    text = text.translate(_SHOWN)
    return text if len(text) <= LONGEST_PART else text[: LONGEST_PART - 1] + "…"


NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def judge_variable(inspection: Inspection, name: str, part: str, *, is_exported: bool) -> None:
    """`is_exported` where programs that are started see it; names in small letters are nobody's convention."""
    if _is_listed(name, inspection.rules.exported):
        return
    if _is_listed(name, inspection.rules.special):
        inspection.add("ask", f"`{name}` changes what other programs do", part, name)
    elif is_exported and not name.islower():
        inspection.add("ask", f"`{name}` may change what other programs do", part, name)


def judge_sum(inspection: Inspection, names: Sequence[str], state: ScriptState, part: str) -> None:
    """Arithmetic evaluates the text of its variables, commands in subscripts included."""
    for name in names:
        values = state.values.get(name)
        if values is None or not all(value.isascii() and value.isdigit() for value in values):
            inspection.add(
                "ask", f"arithmetic on `{shown(name)}` runs commands that its value may hold", part, name
            )


def _is_listed(name: str, listed: Sequence[str]) -> bool:
    for pattern in listed:
        if pattern.endswith("*") and name.startswith(pattern[:-1]):
            return True
        if pattern.startswith("*") and name.endswith(pattern[1:]):
            return True
        if name == pattern:
            return True
    return False


def judge_fields(
    inspection: Inspection,
    fields: Sequence[str],
    state: ScriptState,
    part: str,
    readers: Mapping[str, ArgumentReader],
) -> ScriptOutcome:
    """Judges a command by its fields, and what a person's rules say to it."""
    start, program = len(inspection.findings), fields[0]
    if not program or not is_plain(program):
        if FETCHED in program:
            inspection.add("deny", "fetched or decoded text is run", part, program)
        else:
            inspection.hide("what is run is only known when it runs", part)
        return same(state.lost())
    if program in state.functions:
        return same(state.lost())
    name = _name(inspection.rules, program)
    forms = [(name_of(program), *fields[1:])]
    if "/" in name:
        inspection.add("ask", f"`{shown(program)}` is run by its path", part)
        outcome = same(state)
    else:
        found = _find(inspection, name, fields[1:], state, part)
        forms.append((*found.name.split(" "), *found.rest))
        outcome = _judge(inspection, found, state, part, readers)
    inspection.apply(start, fields, part, forms)
    return outcome


def _name(rules: CommandRules, program: str) -> str:
    for folder in rules.trusted:
        if program.startswith(folder) and "/" not in program[len(folder) :]:
            return program[len(folder) :]
    return program


class ProgramEffects(Struct):
    """The rule for a command: that of the longest name of program and sub-commands."""

    name: str
    rest: list[str]
    folders: Folders
    spec: Spec | None


def _find(
    inspection: Inspection, name: str, rest: Sequence[str], state: ScriptState, part: str
) -> ProgramEffects:
    rules = inspection.rules
    known = "mkfs" if name.startswith("mkfs.") else name
    found = ProgramEffects(name, list(rest), state.folders, rules.specs.get(known))
    while found.name in rules.deeper and found.rest:
        spec = found.spec
        if spec and spec.folder and found.rest[0].startswith("-"):
            # Options before the sub-command, as in `git -C folder log`.
            arguments, used = read_arguments(found.rest, spec, rules.effects[found.name], stops=True)
            found.folders = judge_options(inspection, arguments, spec, found.folders, part)
            found.rest = found.rest[used:]
            if not found.rest:
                break
        deeper = f"{found.name} {found.rest[0]}"
        if deeper not in rules.specs and deeper not in rules.deeper:
            break
        found.name, found.rest = deeper, found.rest[1:]
        found.spec = rules.specs.get(deeper, spec)
    return found


def _judge(
    inspection: Inspection,
    found: ProgramEffects,
    state: ScriptState,
    part: str,
    readers: Mapping[str, ArgumentReader],
) -> ScriptOutcome:
    spec = found.spec
    if spec is None:
        inspection.add("ask", f"`{shown(found.name)}` is not known to be harmless", part)
        return same(state)
    if spec.verdict != "allow":
        inspection.add(spec.verdict, f"`{found.name}` {spec.why}", part)
    if spec.by:
        return readers[spec.by](inspection, [found.name, *found.rest], state, part)
    if spec.wraps >= 0:
        return judge_wrapped(inspection, spec, found.rest, state, part)
    if spec.verdict == "allow" or spec.operands != "read":
        arguments, _ = read_arguments(found.rest, spec, inspection.rules.effects[spec.names[0]])
        folders = judge_options(inspection, arguments, spec, found.folders, part)
        judge_operands(inspection, arguments, spec, folders, part)
    return same(state)


def judge_options(
    inspection: Inspection, arguments: Arguments, spec: Spec, folders: Folders, part: str
) -> Folders:
    """Judges options; the folders that the command works in by them."""
    for word in arguments.unsure:
        inspection.add("ask", f"`{shown(word)}` might be an option that does harm", part, word)
    for option in arguments.options:
        match option.effect:
            case "asks" | "denies":
                why = f"`{shown(option.name)}` {spec.why or 'can run commands or write files'}"
                inspection.add("deny" if option.effect == "denies" else "ask", why, part, option.word)
            case "unknown":
                inspection.add(
                    "ask", f"`{shown(option.name)}` is not known to be harmless", part, option.word
                )
            case "reads":
                inspection.touch("read", option.value, folders, part)
            case "writes":
                inspection.touch("write", option.value, folders, part)
            case "folder":
                inspection.touch("read", option.value, folders, part)
                folders = below(folders, option.value)
            case _:
                pass
    for word in arguments.loose:
        inspection.touch("read", word, folders, part)
    return folders


def judge_operands(
    inspection: Inspection, arguments: Arguments, spec: Spec, folders: Folders, part: str
) -> None:
    given = arguments.operands
    if spec.most >= 0 and len(given) > spec.most:
        inspection.add("ask", f"with `{shown(given[spec.most])}` it {spec.why}", part, given[spec.most])
    instead = spec.instead.split()
    if spec.text and not any(option.name in instead for option in arguments.options):
        # A text that might be any number of fields does not say where the files begin, and so hides none of them.
        given = given[spec.text :] if not any(MANY in word for word in given[: spec.text]) else given
    if arguments.has("follows"):
        inspection.touch_below(given or ["."], folders, part)
    everything = "_all" if arguments.has("recursive") else ""
    match spec.operands:
        case "read":
            _touch_all(inspection, "read", given, folders, part)
        case "write":
            _touch_all(inspection, "write" + everything, given, folders, part)
        case "delete":
            _touch_all(inspection, "delete" + everything, given, folders, part)
        case "last" | "move":
            _judge_copy(inspection, arguments, given, folders, part, moves=spec.operands == "move")
        case _:
            pass


def _touch_all(inspection: Inspection, kind: str, paths: Sequence[str], folders: Folders, part: str) -> None:
    for path in paths:
        if path != "-":
            inspection.touch(kind, path, folders, part)


def _judge_copy(
    inspection: Inspection,
    arguments: Arguments,
    given: Sequence[str],
    folders: Folders,
    part: str,
    *,
    moves: bool,
) -> None:
    """What is copied into a folder keeps its name there, so that name counts as written too."""
    targets = [option.value for option in arguments.options if option.effect == "writes"]
    sources = given if targets else given[:-1]
    targets = targets or list(given[-1:])
    if len(targets) > 1:
        inspection.add("ask", "more than one target is given", part, targets[1])
    _touch_all(inspection, "write" if moves else "read", sources, folders, part)
    for target in targets:
        inspection.touch("write", target, folders, part)
        for source in sources if len(targets) == 1 else ():
            if name := name_of(source):
                inspection.touch("write", f"{target}/{name}", folders, part)


def judge_wrapped(
    inspection: Inspection, spec: Spec, rest: Sequence[str], state: ScriptState, part: str
) -> ScriptOutcome:
    """A command that stands behind the options of another program, which runs it."""
    arguments, used = read_arguments(rest, spec, inspection.rules.effects[spec.names[0]], stops=True)
    judge_options(inspection, arguments, spec, state.folders, part)
    if any(MANY in word for word in rest[used : used + spec.wraps]):
        inspection.hide("what is run is only known when it runs", part)
    inner = rest[used + spec.wraps :]
    if inner[:1] == ["--"]:
        inner = inner[1:]
    return judge_inner(inspection, inner, state, part) if inner else same(state)


def judge_inner(inspection: Inspection, inner: Sequence[str], state: ScriptState, part: str) -> ScriptOutcome:
    start = len(inspection.findings)
    outcome = inspection.run_fields(inspection, inner, replace(state, functions=frozenset()), part)
    inspection.nest(start, inner[0])
    # Most programs run it in a process of its own; `command` and `builtin` run `cd` in this one.
    return ScriptOutcome(merged(outcome.ok, state), merged(outcome.failed, state))
