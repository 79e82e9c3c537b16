"""Judges one command by the rule of its program: options, operands, and the command that it may run itself.

Rule: what no rule knows is asked about, and every file an argument could name is looked at.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from holdfast.tools.commands.arguments import Arguments, read_arguments
from holdfast.tools.commands.fields import FETCHED, MANY, is_plain
from holdfast.tools.commands.findings import Inspection, Reader, shown
from holdfast.tools.commands.flow import Folders, Outcome, State, below, merged, name_of, same
from holdfast.tools.commands.rules import Rules, Spec


def judge_fields(
    inspection: Inspection, fields: Sequence[str], state: State, part: str, readers: Mapping[str, Reader]
) -> Outcome:
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


def _name(rules: Rules, program: str) -> str:
    for folder in rules.trusted:
        if program.startswith(folder) and "/" not in program[len(folder) :]:
            return program[len(folder) :]
    return program


class Found(Struct):
    """The rule for a command: that of the longest name of program and sub-commands."""

    name: str
    rest: list[str]
    folders: Folders
    spec: Spec | None


def _find(inspection: Inspection, name: str, rest: Sequence[str], state: State, part: str) -> Found:
    rules = inspection.rules
    known = "mkfs" if name.startswith("mkfs.") else name
    found = Found(name, list(rest), state.folders, rules.specs.get(known))
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
    inspection: Inspection, found: Found, state: State, part: str, readers: Mapping[str, Reader]
) -> Outcome:
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
    inspection: Inspection, spec: Spec, rest: Sequence[str], state: State, part: str
) -> Outcome:
    """A command that stands behind the options of another program, which runs it."""
    arguments, used = read_arguments(rest, spec, inspection.rules.effects[spec.names[0]], stops=True)
    judge_options(inspection, arguments, spec, state.folders, part)
    if any(MANY in word for word in rest[used : used + spec.wraps]):
        inspection.hide("what is run is only known when it runs", part)
    inner = rest[used + spec.wraps :]
    if inner[:1] == ["--"]:
        inner = inner[1:]
    return judge_inner(inspection, inner, state, part) if inner else same(state)


def judge_inner(inspection: Inspection, inner: Sequence[str], state: State, part: str) -> Outcome:
    start = len(inspection.findings)
    outcome = inspection.run_fields(inspection, inner, replace(state, functions=frozenset()), part)
    inspection.nest(start, inner[0])
    # Most programs run it in a process of its own; `command` and `builtin` run `cd` in this one.
    return Outcome(merged(outcome.ok, state), merged(outcome.failed, state))
