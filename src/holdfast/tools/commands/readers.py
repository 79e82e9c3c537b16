"""Judges for single programs: shell builtins, and programs with a language of their own (awk, sed, jq).

Rule: each judge finds everything that its program could do with these arguments, or asks.
"""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from msgspec.structs import replace

from holdfast.tools.commands.fields import ANY, MANY, is_known, is_plain, may_be_option
from holdfast.tools.commands.flow import ScriptOutcome, ScriptState, below, same
from holdfast.tools.commands.inspection import NAME, ArgumentReader, Inspection, judge_variable, shown
from holdfast.tools.commands.rules import Arguments, Spec, read_arguments
from holdfast.tools.commands.runners import RUNNERS

_BRACKET = r"\[\^?(?:\[:[a-z]+:\]|[^\]\[/\\\n^])(?:\[:[a-z]+:\]|[^\]\[/\\\n])*\]"
_TOKEN = re.compile(
    rf"""(?P<blank>[ \t]+|\#[^\n]*)
    |(?P<break>\n)
    |(?P<text>"(?:[^"\\\n]|\\[^\n])*")
    |(?P<regex>/(?:[^/\\\n\[]|\\[^\n]|{_BRACKET})*+/)
    |(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<sign>\|\||&&|[=!<>]=|\+\+|--|[-+*%^]=|!~|[-+*%^<>=!~?:,;(){{}}\[\]$])""",
    re.VERBOSE | re.ASCII,
)
_DIVISION = re.compile("/=?")
_REACHING = frozenset(
    "system getline close fflush ARGV ARGC ENVIRON PROCINFO SYMTAB FUNCTAB include load namespace".split()
)
"""Names by which a program reaches files, commands and what lies outside its input."""
_BEFORE_REGEX = frozenset("( , { } ; ! ~ !~ && || ? :".split())
_KEYWORDS = frozenset("print printf return exit in case do else".split())
_ENDS = frozenset({"}", ";"})
_CONTINUES = frozenset("( , { && || ? : + - * / % ^ < <= == != > >= ~ !~ = += -= *= %= ^= ! $ [".split())
"""Behind these a statement goes on in the next line."""


def is_harmless_awk(program: str) -> bool:
    """Whether a program has no way to other files and commands: `>` is a comparison but where something is printed,
    and a single `|` is never harmless."""
    if not is_plain(program):
        return False
    at, last, is_printing = 0, ";", False
    while at < len(program):
        found = _next(program, at, last)
        if not found:
            return False
        at, read = found.end(), found[0]
        if found.lastgroup == "blank":
            continue
        if read in _REACHING or (read == ">" and is_printing):
            return False
        is_over = read in _ENDS or (read == "\n" and last not in _CONTINUES)
        is_printing = (is_printing and not is_over) or read in ("print", "printf")
        last = read if read != "\n" else last if last in _CONTINUES else ";"
    return True


def _next(program: str, at: int, last: str) -> re.Match[str] | None:
    """The token that stands there, behind the last one; None where that is not sure."""
    if program[at] != "/" or _may_be_regex(last):
        return _TOKEN.match(program, at)
    # A division, or nobody knows: then what follows is not read as the text of a pattern.
    return None if last in (")", "++", "--", "length") else _DIVISION.match(program, at)


def _may_be_regex(last: str) -> bool:
    return last in _BEFORE_REGEX or last in _KEYWORDS or last == ";"


# Small languages inside arguments: scripts of `sed`, programs of `jq`, tests.
#
# Rule: what is harmless is described, not what is harmful; a form that is not described is asked about.

# A bracket may not hold the delimiter: some programs end the expression there and others do not. Nor may it begin
# with what closes it, or hold one that opens: where it ends is then not the same to all of them.
_SED_SET = r"\[\^?(?:\[:[a-z]+:\]|{0}[^\]\[\\\n^])(?:\[:[a-z]+:\]|{0}[^\]\[\\\n])*\]"
_REGEX = r"/(?:[^/\\\n\[]|\\[^\n]|" + _SED_SET.format("(?!/)") + r")*+/I?"
_ADDRESS = rf"(?:\d+|\$|{_REGEX})"
_RANGE = rf"(?:{_ADDRESS}(?:[ ]*[,~][ ]*[+~]?{_ADDRESS})?[ ]*!?[ ]*)?"
_FROM = r"(?:(?!\1)[^\\\n\[]|\\[^\n]|" + _SED_SET.format(r"(?!\1)") + r")*+"
_TO = r"(?:(?!\1)[^\\\n]|\\[^\n])*+"
_SED = re.compile(
    rf"{_RANGE}(?:[{{}}][ \t]*"
    rf"|(?:[pdDPnNgGhHxl=]|[qQ]\d*|s([/|#,@!:;%+~_]){_FROM}\1{_TO}\1[gpiIM0-9]*)[ \t]*(?:[;\n]|$|(?=\}}))"
    r"|[aic][ \\][^\n\\]*(?:\n|$))[ \t;\n]*"
)
_JQ = re.compile(r"\b(?:import|include|env|modulemeta|get_search_list)\b|\$(?:ENV|__)", re.ASCII)
_OPERATORS = frozenset("= == != < > -eq -ne -lt -le -gt -ge -nt -ot -ef -a -o".split())


def is_harmless_sed(script: str) -> bool:
    """Whether a script of `sed` only changes what is printed: no `w`, `e`, `r`, nor flags of that kind."""
    script, at = script.strip(), 0
    if not script or not is_plain(script):
        return False
    while at < len(script):
        found = _SED.match(script, at)
        if not found or found.end() == at:
            return False
        at = found.end()
    return True


def is_harmless_jq(program: str) -> bool:
    return is_plain(program) and not _JQ.search(program)


def is_harmless_test(words: Sequence[str]) -> bool:
    """Whether a test evaluates no subscript: `-v name[…]` would, also where `-v` comes from a variable."""
    if any(word in ("-v", "-R") or MANY in word for word in words):
        return False
    return all(is_known(word) or following in _OPERATORS for word, following in pairwise(words))


# Programs whose arguments are read by code: those of the shell itself, and those with a language of their own.
#
# Rule: each reader finds everything that its program could do with the arguments, or asks.

_SET = re.compile(r"[-+](?=.)[eufxvC]*o?|errexit|nounset|pipefail|xtrace|verbose|noglob|noclobber", re.ASCII)
_READ_TAKING = {"read": "pdnNtui", "printf": "v", "mapfile": "dnOsu", "readarray": "dnOsu"}
_READ_FLAGS = {
    "read": "ersa",
    "export": "",
    "declare": "xraAlugp",
    "typeset": "xraAlugp",
    "local": "xraAlu",
    "mapfile": "t",
    "readarray": "t",
}


def judge_cd(inspection: Inspection, words: Sequence[str], state: ScriptState, part: str) -> ScriptOutcome:
    """Where the shell goes; outside the root that is asked, so that nothing behind it must be."""
    targets = [word for word in words[1:] if word not in ("-L", "-P", "-e", "-n", "--")]
    if words[0] == "dirs":
        return same(state)
    if words[0] == "popd":
        return same(state.moved(None))
    if targets == ["-"]:
        for folder in state.previous or (ANY,):
            inspection.touch("read", folder, state.folders, part)
        return ScriptOutcome(state.moved(state.previous), state)
    if len(targets) != 1 or targets[0].startswith(("-", "+")) or may_be_option(targets[0]):
        inspection.add(
            "ask",
            f"where `{shown(' '.join(words))}` leads is not known",
            part,
            targets[0] if targets else "cd",
        )
        return same(state.lost())
    inspection.touch("read", targets[0], state.folders, part)
    return ScriptOutcome(state.moved(below(state.folders, targets[0])), state)


def judge_assigns(
    inspection: Inspection, words: Sequence[str], state: ScriptState, part: str
) -> ScriptOutcome:
    """Builtins that set variables: `export A=b`, `read line`, `printf -v name`."""
    program, at, names = words[0], 1, list[str]()
    taking, flags = _READ_TAKING.get(program, ""), _READ_FLAGS.get(program, "")
    if program == "printf" and words[1:2] != ["-v"]:
        if len(words) > 1 and may_be_option(words[1]):
            inspection.add("ask", "the first word of `printf` might set a variable", part, words[1])
        return same(state)
    while at < len(words):
        word = words[at]
        name, equals, _ = word.partition("=")
        if word == "-v" and program == "printf":
            name = words[at + 1] if at + 1 < len(words) else ""
            names.append(name)
            _judge_name(inspection, name, part, is_exported=False)
            break
        if word.startswith("-") and word[1:]:
            at += _judge_flags(inspection, word, taking, flags, part)
        elif program not in ("unset", "read", "mapfile", "readarray") or not equals:
            names.append(name)
            _judge_name(inspection, name, part, is_exported=program == "export")
        at += 1
    if not names and program not in ("read", "mapfile", "readarray"):
        inspection.add("ask", f"`{program}` shows all variables, where secrets are", part)
    if program in ("let", "getopts"):
        inspection.add("ask", f"`{program}` evaluates its words", part)
    outcome = same(state.without(*names))
    if program != "read" or [word for word in words[1:] if word != "-r"] != names[:1]:
        return outcome
    return _read_name(inspection, names[0], state, outcome)


def _read_name(
    inspection: Inspection, name: str, state: ScriptState, outcome: ScriptOutcome
) -> ScriptOutcome:
    """`read` of a line that is the name of a file."""
    field = state.names.word(is_split=True) if state.names and not state.names.is_null else ""
    if not field or not inspection.is_sure(field, state.folders):
        return outcome
    values = {**outcome.ok.values, name: frozenset({field})}
    return ScriptOutcome(replace(outcome.ok, values=values), outcome.failed)


def _judge_flags(inspection: Inspection, word: str, taking: str, flags: str, part: str) -> int:
    """Whether the next word belongs to an option."""
    for at, letter in enumerate(word[1:], 2):
        if letter in taking:
            return int(at == len(word))
        if letter not in flags:
            inspection.add("ask", f"`{shown(word)}` is not known to be harmless", part, word)
    return 0


def _judge_name(inspection: Inspection, name: str, part: str, *, is_exported: bool) -> None:
    if NAME.fullmatch(name):
        judge_variable(inspection, name, part, is_exported=is_exported)
    else:
        inspection.add("ask", f"`{shown(name)}` is not a plain variable name", part, name or '""')


def judge_set(inspection: Inspection, words: Sequence[str], state: ScriptState, part: str) -> ScriptOutcome:
    if len(words) == 1:
        inspection.add("ask", "`set` shows all variables, where secrets are", part)
    for word in words[1:]:
        if word == "--":
            break
        if not _SET.fullmatch(word):
            inspection.add("ask", f"`set {shown(word)}` changes how the shell reads", part, word)
    return same(state)


def judge_test(inspection: Inspection, words: Sequence[str], state: ScriptState, part: str) -> ScriptOutcome:
    if not is_harmless_test([word for word in words[1:] if word != "]"]):
        inspection.add("ask", "this test may evaluate what a variable holds", part, words[-1])
    return same(state)


def judge_date(inspection: Inspection, words: Sequence[str], state: ScriptState, part: str) -> ScriptOutcome:
    arguments = _generic(inspection, words, state, part)
    for word in arguments.operands:
        if not word.startswith("+"):
            inspection.add("ask", f"`{shown(word)}` may set the clock", part, word)
    return same(state)


def judge_ps(inspection: Inspection, words: Sequence[str], state: ScriptState, part: str) -> ScriptOutcome:
    """Options need no dash: `ps auxe` shows environments, where secrets are."""
    arguments = _generic(inspection, words, state, part)
    for word in arguments.operands:
        if not is_known(word) or "e" in word:
            inspection.add("ask", f"`{shown(word)}` may show the environment of processes", part, word)
    for option in arguments.options:
        if not is_known(option.value) or "environ" in option.value:
            inspection.add("ask", "it may show the environment of processes", part, option.word)
    return same(state)


def judge_jq(inspection: Inspection, words: Sequence[str], state: ScriptState, part: str) -> ScriptOutcome:
    rest, kept = list(words[1:]), list[str]()
    while rest:
        if rest[0] in ("--arg", "--argjson") and len(rest) > 2 and MANY not in rest[1] + rest[2]:
            rest = rest[3:]
        else:
            kept.append(rest.pop(0))
    arguments = _generic(inspection, [words[0], *kept], state, part)
    if not arguments.operands or not is_harmless_jq(arguments.operands[0]):
        inspection.add("ask", "this program of `jq` may read more than its files", part, "jq")
    _touch(inspection, "read", arguments.operands[1:], state, part)
    return same(state)


def judge_sed(inspection: Inspection, words: Sequence[str], state: ScriptState, part: str) -> ScriptOutcome:
    """Prints unless `-i` is there; its script may write and run."""
    return _scripted(inspection, words, state, part, "nErsuz", is_harmless_sed, in_place="i")


def judge_awk(inspection: Inspection, words: Sequence[str], state: ScriptState, part: str) -> ScriptOutcome:
    return _scripted(inspection, words, state, part, "", is_harmless_awk, takes="Fv")


def _scripted(
    inspection: Inspection,
    words: Sequence[str],
    state: ScriptState,
    part: str,
    flags: str,
    is_harmless: Callable[[str], bool],
    *,
    in_place: str = "",
    takes: str = "",
) -> ScriptOutcome:
    """A program whose first operand, or the value of `-e`, is a script."""
    spec = Spec(
        names=[words[0]],
        flags=" ".join(["--version", *("-" + flag for flag in flags)]),
        takes=" ".join([*(["-e", "--expression"] if in_place else []), *("-" + one for one in takes)]),
    )
    effects = {**spec.effects(), **{"-" + one: "in place" for one in in_place}}
    effects |= {"--in-place": "in place"} if in_place else {}
    rest = [_without_suffix(word, in_place) for word in words[1:]]
    arguments, _ = read_arguments(rest, spec, effects)
    _judge_listed(inspection, arguments, part)
    scripts = [option.value for option in arguments.options if option.name in ("-e", "--expression")]
    files = arguments.operands if scripts else arguments.operands[1:]
    for script in scripts or arguments.operands[:1] or [ANY]:
        if not is_harmless(script):
            inspection.add("ask", f"the script of `{words[0]}` may write files or run commands", part, script)
    for word in files:
        if may_be_option(word) and "--" not in words:
            inspection.add("ask", f"`{shown(word)}` might be an option that does harm", part, word)
    _touch(inspection, "write" if arguments.has("in place") else "read", files, state, part)
    return same(state)


def _without_suffix(word: str, in_place: str) -> str:
    """`-i.bak` as `-i`: what follows is a suffix, unless it is a cluster that hides a script."""
    return "-i" if in_place and re.fullmatch(r"-i\.\w+|--in-place=\.\w+", word, re.ASCII) else word


def _judge_listed(inspection: Inspection, arguments: Arguments, part: str) -> None:
    for word in arguments.unsure:
        inspection.add("ask", f"`{shown(word)}` might be an option that does harm", part, word)
    for option in arguments.options:
        if option.effect == "unknown" or (option.effect == "in place" and option.value):
            inspection.add("ask", f"`{shown(option.name)}` is not known to be harmless", part, option.word)


def judge_response(
    inspection: Inspection, words: Sequence[str], state: ScriptState, part: str
) -> ScriptOutcome:
    """Programs for which `@file` is a file with more arguments in it."""
    arguments = _generic(inspection, words, state, part)
    for word in [*arguments.operands, *(option.value for option in arguments.options)]:
        if word.startswith("@") or may_be_option(word):
            inspection.add("ask", f"`{shown(word)}` may be a file with more arguments", part, word)
    _touch(inspection, "read", arguments.operands, state, part)
    return same(state)


def judge_dd(inspection: Inspection, words: Sequence[str], state: ScriptState, part: str) -> ScriptOutcome:
    for word in words[1:]:
        name, _, value = word.partition("=")
        if not is_known(name) or MANY in word:
            inspection.add("ask", f"`{shown(word)}` may be any file", part, word)
        elif name in ("if", "of"):
            inspection.touch("read" if name == "if" else "write", value, state.folders, part)
    return same(state)


def judge_kill(inspection: Inspection, words: Sequence[str], state: ScriptState, part: str) -> ScriptOutcome:
    """Asked about in any case; all processes at once and the first one are denied."""
    if words[0] == "kill" and any(word in ("-1", "1", "0", "-0") for word in words[2:] or words[1:]):
        inspection.add("deny", "it kills all processes, or the init process", part)
    return same(state)


def _generic(inspection: Inspection, words: Sequence[str], state: ScriptState, part: str) -> Arguments:
    """Options by the program's rule; operands are left to its reader."""
    spec, effects = inspection.rules.specs[words[0]], inspection.rules.effects[words[0]]
    arguments, _ = read_arguments(words[1:], spec, effects)
    _judge_listed(inspection, arguments, part)
    for option in arguments.options:
        if option.effect == "asks":
            inspection.add("ask", f"`{shown(option.name)}` {spec.why}", part, option.word)
        elif option.effect == "reads":
            inspection.touch("read", option.value, state.folders, part)
    _touch(inspection, "read", arguments.loose, state, part)
    return arguments


def _touch(inspection: Inspection, kind: str, paths: Sequence[str], state: ScriptState, part: str) -> None:
    for path in paths:
        if path != "-":
            inspection.touch(kind, path, state.folders, part)


READERS: dict[str, ArgumentReader] = {
    **RUNNERS,
    "cd": judge_cd,
    "assigns": judge_assigns,
    "set": judge_set,
    "test": judge_test,
    "date": judge_date,
    "jq": judge_jq,
    "ps": judge_ps,
    "sed": judge_sed,
    "awk": judge_awk,
    "response": judge_response,
    "dd": judge_dd,
    "kill": judge_kill,
}
