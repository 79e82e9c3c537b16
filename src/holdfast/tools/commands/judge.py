"""Whether a shell command may run: allow, ask or deny, with the reason and the part that decides.

Rule: a pure function of the command, the folders, the rules and where links lead. No text makes it fail, and
what cannot be read surely is asked about. It takes time linear in the command.
"""

import posixpath
from collections.abc import Sequence
from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from holdfast.tools.commands.fields import CommandRoots, Follow, stay
from holdfast.tools.commands.flow import NOTHING, ScriptOutcome, ScriptState, same
from holdfast.tools.commands.inspection import Inspection, judge_fields, shown
from holdfast.tools.commands.reader import read_script
from holdfast.tools.commands.readers import READERS
from holdfast.tools.commands.rules import SEVERITY, CommandRules, Verdict, built_in, plain_text, written
from holdfast.tools.commands.syntax import ShellScript, Simple, UnreadableScript
from holdfast.tools.commands.walk import judge_script

DEEPEST = 16
"""Commands in arguments of commands: `env nohup sh -c '…'`."""
MOST_COMMANDS = 5_000
"""Commands that are looked at, those in each case of a variable on their own."""


class Judgement(Struct, frozen=True):
    verdict: Verdict
    reason: str
    part: str
    """The command, or the piece of it, that decides."""


def judge(command: str, *, root: str, cwd: str, rules: CommandRules, follow: Follow = stay) -> Judgement:
    """Judges a command that bash would run in `cwd`. Both folders are absolute paths."""
    assert root.startswith("/"), root
    assert cwd.startswith("/"), cwd
    ground = CommandRoots((_folder(root), *rules.folders), rules.guarded, cache(follow))
    inspection = Inspection(rules, ground, _run_text, _run_fields)
    _run_text(inspection, command, ScriptState(frozenset({_folder(cwd)}), NOTHING), shown(command))
    findings = inspection.findings
    if any(pattern.is_everything for pattern in rules.allow):
        # Redirections and variables beside a command have no words for a pattern to match.
        findings = [one for one in findings if one.is_fixed or one.is_hidden or one.verdict == "deny"]
    if not findings:
        return Judgement("allow", "everything in it is known to be harmless", shown(command))
    worst = max(findings, key=lambda finding: SEVERITY[finding.verdict])
    return Judgement(worst.verdict, worst.reason, worst.part or shown(command))


def _folder(path: str) -> str:
    return "/" + posixpath.normpath(path).strip("/")


def _run_text(inspection: Inspection, text: str, state: ScriptState, part: str) -> ScriptOutcome:
    script = _read(inspection, text, state, part)
    if script is None and state.is_posix and state.depth <= DEEPEST:
        # The shell may be bash all the same, and then this is what runs.
        script = _read(inspection, text, replace(state, is_posix=False), part)
    if script is None:
        return same(state.lost())
    outcome = judge_script(inspection, script, replace(state, depth=state.depth + 1))
    return ScriptOutcome(replace(outcome.ok, depth=state.depth), replace(outcome.failed, depth=state.depth))


def _read(inspection: Inspection, text: str, state: ScriptState, part: str) -> ShellScript | None:
    try:
        if state.depth > DEEPEST:
            raise UnreadableScript("commands are nested too deeply")
        return read_script(text, is_posix=state.is_posix)
    except UnreadableScript as error:
        inspection.hide(f"it cannot be parsed with certainty: {error}", part)
        return None


def _run_fields(
    inspection: Inspection, fields: Sequence[str], state: ScriptState, part: str
) -> ScriptOutcome:
    inspection.steps += 1
    if state.depth > DEEPEST or inspection.steps > MOST_COMMANDS:
        inspection.hide("it has too many commands, or they are nested too deeply", part)
        return same(state.lost())
    outcome = judge_fields(inspection, fields, replace(state, depth=state.depth + 1), part, READERS)
    return ScriptOutcome(replace(outcome.ok, depth=state.depth), replace(outcome.failed, depth=state.depth))


def pattern_for(command: str) -> str:
    """The pattern that would allow a command and its like; empty where there is none.

    A program with sub-commands is named with its sub-command. What runs other commands or deletes is named whole,
    as is what no rule knows: nobody can tell which words of it matter.
    """
    try:
        steps = read_script(command).steps
    except UnreadableScript:
        return ""
    commands = [one for pipeline, _ in steps for one in pipeline.commands]
    if len(commands) != 1 or not isinstance(one := commands[0], Simple):
        return ""
    words = [plain_text(word) for word in one.words]
    plain = [word for word in words if word is not None]
    rules = built_in()
    length = _length(plain, rules) if plain and words[0] is not None else 0
    if 0 < length <= len(plain) and None not in words[:length]:
        return written(plain[:length], is_whole=False)
    if not plain or len(plain) < len(words):
        return ""
    return written(plain, is_whole=True)


def _length(words: list[str], rules: CommandRules) -> int:
    """How many words name what a command does; 0 where only all of them do."""
    name, length = words[0], 1
    while name in rules.deeper and length < len(words) and not words[length].startswith("-"):
        name, length = f"{name} {words[length]}", length + 1
    spec = rules.specs.get(name) or rules.specs.get(words[0])
    if spec is None or spec.by or spec.wraps >= 0 or spec.operands == "delete" or spec.verdict == "deny":
        return 0
    if words[0] in rules.named:
        length = max(length, 2 + (words[1:2] in (["run"], ["compose"], ["exec"])))
    return length if words[0] not in rules.deeper or length > 1 else 0
