"""Judges for programs that run other commands: shells, eval, env, xargs, find, ssh, su, interpreters.

Rule: the inner command is judged as if it were run alone. Unknown text is asked about; downloaded or decoded text
is denied.
"""

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from holdfast.tools.commands.fields import (
    ANY,
    FETCHED,
    HOME,
    MANY,
    WILD,
    is_known,
    is_plain,
    may_be_option,
)
from holdfast.tools.commands.flow import NOTHING, PipeInput, ScriptOutcome, ScriptState, found_names, same
from holdfast.tools.commands.inspection import (
    NAME,
    ArgumentReader,
    Inspection,
    judge_inner,
    judge_variable,
    shown,
)
from holdfast.tools.commands.rules import read_arguments

_TAKING = frozenset("-n -P -L -s -E -d -a --max-args --max-procs --delimiter --arg-file".split())
_FLAGS = frozenset("-0 -r -t -x --null --no-run-if-empty --verbose --exit".split())
_QUOTING = re.compile(f"[\"'\\\\{WILD}-{HOME}]")
_LONGEST_TEXT = 300


class XargsOptions(Struct):
    """What `xargs` is told: what stands for an item, how items are parted, and whether they come in groups."""

    stands: str = ""
    is_null: bool = False
    is_parted: bool = False
    is_grouped: bool = False


def judge_xargs(inspection: Inspection, words: Sequence[str], state: ScriptState, part: str) -> ScriptOutcome:
    at, told = 1, XargsOptions()
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        at += _gather(inspection, words, at, told, state, part)
    inner = list(words[at:]) or ["echo"]
    items = _items(inspection, state, told)
    if told.stands:
        inner = [word.replace(told.stands, items[0]) for word in inner]
    else:
        inner += items
    judge_inner(inspection, inner, replace(state, feed=PipeInput()), part)
    return same(state)


def _gather(
    inspection: Inspection, words: Sequence[str], at: int, told: XargsOptions, state: ScriptState, part: str
) -> int:
    """How many words an option of `xargs` takes."""
    word, taken = words[at], 1
    following = words[at + 1] if at + 1 < len(words) else ""
    if word in ("-I", "--replace", "-i"):
        told.stands = following if word == "-I" and following else "{}"
        taken += word == "-I"
    elif word in _TAKING:
        taken += 1
    elif word.startswith("-I"):
        told.stands = word[2:]
    elif word in _FLAGS or (word[:2] in _TAKING and word[2:].isalnum() and word[:2] != "-a"):
        pass
    else:
        inspection.add("ask", f"`{shown(word)}` of `xargs` is not followed", part, word)
    if word in ("-a", "--arg-file") and following:
        inspection.touch("read", following, state.folders, part)
    told.is_null |= word in ("-0", "--null")
    told.is_parted |= word.startswith(("-d", "--delimiter", "-E", "-a", "--arg-file"))
    told.is_grouped |= word.startswith(("-n", "-L", "-s", "-x", "--max-args", "--exit"))
    return taken


def _items(inspection: Inspection, state: ScriptState, told: XargsOptions) -> list[str]:
    """What `xargs` adds to a command: two of it, where there may be many."""
    feed, names = state.feed, state.names
    if names and not told.is_parted and names.is_null == told.is_null:
        field = names.word(is_split=not told.is_null)
        if inspection.is_sure(field, state.folders):
            return [field, field]
    text = feed.text if feed else None
    is_whole = not (told.is_parted or told.is_grouped or told.is_null or told.stands)
    if text and is_whole and len(text) < _LONGEST_TEXT and not _QUOTING.search(text):
        return text.split()
    return [FETCHED + ANY if feed and feed.is_fetched else ANY]


# Programs that run what their arguments say: shells, `eval`, `env`, `xargs`, `find`, `ssh`, `su`, interpreters.
#
# Rule: the command inside is judged as if it stood alone; a text that is not known beforehand is asked about, and
# one that was fetched or decoded is denied.

_SHELL_FLAGS = frozenset("--login --norc --noprofile -- -o +o".split())
_SHELL_OPTIONS = re.compile(r"-[ceuxlisvnfmo]+|\+[euxvfmo]+")
_MARKS = re.compile(f"[{WILD}-{HOME}]")
_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_MOST_STARTS, _LONGEST_START = 16, 300
_FIND_WRITES = frozenset({"-fprint", "-fprint0", "-fprintf", "-fls"})


def judge_shell(inspection: Inspection, words: Sequence[str], state: ScriptState, part: str) -> ScriptOutcome:
    """`sh -c text`, `sh file`, and `sh` that reads its script from the standard input."""
    inner = replace(state, values=NOTHING, functions=frozenset(), is_posix=words[0] != "bash")
    runs_text, reads_input, at = False, False, 1
    while at < len(words) and words[at][:1] in ("-", "+") and words[at] != "-":
        word = words[at]
        at += 1 + (word.endswith("o") and not word.startswith("--"))
        if word == "--":
            break
        if not (word in _SHELL_FLAGS or _SHELL_OPTIONS.fullmatch(word)):
            inspection.add("ask", f"`{shown(word)}` is not known to be harmless", part, word)
        runs_text |= "c" in word[1:] and not word.startswith("--")
        reads_input |= "s" in word[1:] and not word.startswith("--")
    rest = words[at + 1 :] if words[at : at + 1] == ["-"] else words[at:]
    if not runs_text and rest and may_be_option(rest[0]):
        inspection.hide("what is run is only known when it runs", part)
    if runs_text and rest:
        run_text(inspection, rest[0], inner, part)
    elif rest and not reads_input and rest[0] != "/dev/stdin":
        fetched = FETCHED in rest[0]
        why = "fetched or decoded text is run" if fetched else f"the script `{shown(rest[0])}` is run"
        inspection.add("deny" if fetched else "ask", why, part, "" if is_known(rest[0]) else rest[0])
    else:
        _run_feed(inspection, inner, part)
    return same(state)


def run_text(inspection: Inspection, text: str, state: ScriptState, part: str) -> ScriptOutcome:
    """Judges a text that is run as a script."""
    start = len(inspection.findings)
    if FETCHED in text:
        inspection.add("deny", "fetched or decoded text is run", part, text)
        return same(state.lost())
    if not is_plain(text):
        # Whatever the unknown words are, what stands beside them may be enough to deny it.
        inspection.run_text(inspection, _MARKS.sub("x", text), state, part)
        found = [finding for finding in inspection.findings[start:] if finding.verdict == "deny"]
        inspection.findings[start:] = found
        inspection.hide("what is run is only known when it runs", part)
        return same(state.lost())
    outcome = inspection.run_text(inspection, text, state, part)
    inspection.nest(start, text)
    return outcome


def _run_feed(inspection: Inspection, state: ScriptState, part: str) -> None:
    feed = state.feed
    if feed is None:
        inspection.add("ask", "a script is read from the standard input", part)
    elif feed.is_fetched:
        inspection.add("deny", "fetched or decoded text is run", part)
    elif feed.text is None:
        inspection.hide("what is run is only known when it runs", part)
    else:
        run_text(inspection, feed.text, replace(state, feed=None), part)


def judge_interpreter(
    inspection: Inspection, words: Sequence[str], state: ScriptState, part: str
) -> ScriptOutcome:
    """Other interpreters are asked about; what is fetched and run by them is denied."""
    reads_input = len(words) < 2 or words[-1] in ("-", "/dev/stdin")
    if (reads_input and state.feed and state.feed.is_fetched) or any(FETCHED in word for word in words):
        inspection.add("deny", "fetched or decoded text is run", part)
    return same(state.lost() if words[0] in ("source", ".") else state)


def judge_eval(inspection: Inspection, words: Sequence[str], state: ScriptState, part: str) -> ScriptOutcome:
    return run_text(inspection, " ".join(words[1:]), state, part)


def judge_env(inspection: Inspection, words: Sequence[str], state: ScriptState, part: str) -> ScriptOutcome:
    at = 1
    while at < len(words):
        word = words[at]
        name, equals, _ = word.partition("=")
        if word in ("-u", "--unset"):
            at += 1
        elif word in ("-i", "-", "--ignore-environment", "-0", "--null", "-v", "--debug", "--"):
            pass
        elif word.startswith("-") or (may_be_option(word) and not equals):
            fetched = FETCHED in word
            inspection.add(
                "deny" if fetched else "ask", f"`{shown(word)}` of `env` is not followed", part, word
            )
        elif equals and NAME.fullmatch(name):
            judge_variable(inspection, name, part, is_exported=True)
        elif equals:
            inspection.add("ask", f"`{shown(word)}` sets a variable of another name", part, word)
        else:
            return judge_inner(inspection, words[at:], state, part)
        at += 1
    inspection.add("ask", "`env` shows the environment, where secrets are", part)
    return same(state)


def judge_command(
    inspection: Inspection, words: Sequence[str], state: ScriptState, part: str
) -> ScriptOutcome:
    """`command -v name` only looks a name up."""
    if len(words) > 1 and words[1] in ("-v", "-V"):
        return same(state)
    rest = words[2:] if words[1:2] in (["-p"], ["--"]) else words[1:]
    return judge_inner(inspection, rest, state, part) if rest else same(state)


def judge_joined(
    inspection: Inspection, words: Sequence[str], state: ScriptState, part: str
) -> ScriptOutcome:
    """Words that another shell reads again, here or on another machine."""
    spec = inspection.rules.specs[words[0]]
    effects = inspection.rules.effects[words[0]]
    arguments, used = read_arguments(words[1:], spec, effects, stops=True)
    for option in arguments.options:
        if option.value and any(mark in option.value for mark in ("ommand", "roxy", "rogram")):
            inspection.add("ask", f"`{shown(option.value)}` runs a command here", part, option.value)
    start = len(inspection.findings)
    if text := " ".join(words[1 + used + spec.wraps :]):
        run_text(inspection, text, replace(state.lost(), feed=None, is_posix=True), part)
    inspection.nest(start, words[-1])
    return same(state)


def judge_su(inspection: Inspection, words: Sequence[str], state: ScriptState, part: str) -> ScriptOutcome:
    for at, word in enumerate(words[:-1]):
        if word in ("-c", "--command"):
            run_text(inspection, words[at + 1], replace(state.lost(), feed=None, is_posix=True), part)
    return same(state)


def judge_find(inspection: Inspection, words: Sequence[str], state: ScriptState, part: str) -> ScriptOutcome:
    """`find`: where it looks, what it writes or deletes, and what it runs on each file that it finds."""
    at = 1
    while at < len(words) and words[at] in ("-H", "-L", "-P"):
        at += 1
    follows = "-L" in words[1:at] or "-follow" in words
    starts = list[str]()
    while at < len(words) and not words[at].startswith(("-", "(", "!")):
        starts.append(words[at])
        at += 1
    for start in starts:
        inspection.touch("read", start, state.folders, part)
    for word in words[1:]:
        if (
            MANY in word
            or (may_be_option(word) and word not in starts)
            or word.startswith(("-D", "-O", "-files0"))
        ):
            inspection.add("ask", f"`{shown(word)}` may delete or run something", part, word)
    if any(may_be_option(start) for start in starts):
        inspection.add("ask", "a name might be an option that deletes or runs something", part, starts[0])
    if len(starts) > _MOST_STARTS or any(len(start) > _LONGEST_START for start in starts):
        inspection.add("ask", "it looks in too many places", part, starts[0])
    if follows:
        inspection.touch_below((starts or ["."])[:_MOST_STARTS], state.folders, part)
    found = [
        found_names(words[1:], start[:_LONGEST_START]).word(is_split=False)
        for start in (starts or ["."])[:_MOST_STARTS]
    ]
    _judge_expression(inspection, words, at, found, state, part)
    return same(state)


def _judge_expression(
    inspection: Inspection, words: Sequence[str], at: int, found: list[str], state: ScriptState, part: str
) -> None:
    while at < len(words):
        word = words[at]
        at += 1
        if word == "-delete":
            for path in found:
                inspection.touch("delete_all", path, state.folders, part)
        elif word in _FIND_WRITES and at < len(words):
            inspection.touch("write", words[at], state.folders, part)
        elif word in _FIND_RUNS:
            end = at
            while end < len(words) and words[end] != ";" and words[end - 1 : end + 1] != ["{}", "+"]:
                end += 1
            inner = [one for field in words[at:end] for one in _found_in(field, found)]
            there = replace(state, folders=None) if word.endswith("dir") else state
            if inner:
                judge_inner(inspection, inner, replace(there, feed=None), part)
            at = end + 1


def _found_in(field: str, found: list[str]) -> list[str]:
    return [field.replace("{}", path) for path in found] if "{}" in field else [field]


RUNNERS: dict[str, ArgumentReader] = {
    "shell": judge_shell,
    "interpreter": judge_interpreter,
    "eval": judge_eval,
    "env": judge_env,
    "command": judge_command,
    "xargs": judge_xargs,
    "joined": judge_joined,
    "su": judge_su,
    "find": judge_find,
}
