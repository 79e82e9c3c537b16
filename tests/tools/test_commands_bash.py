"""The reader of scripts against shells themselves: what they run, and with which words, is what was read."""

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from holdfast.tools.commands import built_in
from holdfast.tools.commands.fields import QUIET, CommandRoots, expand, is_plain
from holdfast.tools.commands.flow import NOTHING, ScriptState, same
from holdfast.tools.commands.inspection import Inspection
from holdfast.tools.commands.reader import read_script
from holdfast.tools.commands.syntax import ShellScript, Simple, UnreadableScript
from holdfast.tools.commands.walk import judge_script

pytestmark = pytest.mark.skipif(not shutil.which("bash"), reason="there is no bash to compare with")

SAFE = {"PATH": "/nowhere", "LC_ALL": "C.UTF-8"}
"""Only builtins run, and the tokens below name none but `p`, `true` and `false`."""

ASKED = "?"

WORDS = [
    "a",
    "b",
    "-",
    " ",
    " ",
    "'",
    '"',
    "\\",
    "$'",
    "\\x41",
    "\\n",
    "\\101",
    "\\t",
    "#",
    "\\\n",
    "''",
    '""',
    "{a,b}",
]
WORDS += ["{", "}", ",", "{x..y}", "=", "é", "\\'", '\\"', "~", "!", ":", "$", "${", "\r"]
SCRIPTS: list[list[str]] = [
    *([["P"]] * 4),
    ["S", "&&", "S"],
    ["S", "||", "S"],
    ["S", "|", "S"],
    ["S", ";", "S"],
    ["S", "\n", "S"],
    ["S", " &", "S"],
    ["S", " # ", "S", "\n", "S"],
    ["(", "S", ")"],
    ["{ ", "S", "; }"],
    ["! ", "S"],
    ["time ", "S"],
    ["P", "$(", "S", ")"],
    ["P", '"$(', "S", ')"'],
    ["P", "`", "S", "`"],
    ["P", '"', "`", "S", "`", '"'],
    ["P", "<(", "S", ")"],
    ["P", "${x:-", "$(", "S", ")", "}"],
    ["P", '"${x:+', "`", "S", "`", '}"'],
    ["x=", "$(", "S", ")", " ", "P"],
    ["a=(", "$(", "S", ")", ")"],
    ["P", " <<E\n", "$(", "S", ")", "\nE\n", "S"],
    ["P", " <<'E'\n", "S", "\nE\n", "S"],
    ["P", " <<-E\n", "S", "\n\tE\n", "S"],
    ["P", " <<E", " | ", "S", "\n", "x", "\nE\n", "S"],
    ["P", "<<<", '"$(', "S", ')"'],
    ["if ", "S", "; then ", "S", "; else ", "S", "; fi"],
    ["if ", "S", "\nthen ", "S", "\nelif ", "S", "\nthen ", "S", "\nfi"],
    ["for i in 1 ", "$(", "S", ")", "; do ", "S", "; done"],
    ["case ", "$(", "S", ")", " in ", "a", ")", "S", ";; *) ", "S", ";; esac"],
    ["[[ ", "$(", "S", ")", " == a ", "]]"],
    ["g() ", "{ ", "S", "; }", "; ", "S"],
    ["function g ", "{ ", "S", "; }"],
    ["P", "'", "S", "'"],
    ["P", '"', "a", '"'],
    ["P", "\\\n", "S"],
    ["P", "\\", "S"],
    ["[[ a", " || ", "S", " ]]"],
    ["P", "$'a\\'", ";", "S", " #'"],
    ["P", " &>/dev/null"],
    ["((1", "))"],
    ["P", "$((1", "))"],
]
"""Scripts made of scripts: `S` stands for one of these, `P` for a call of `p` that tells it from all others."""


def run_bash(script: str, texts: list[str], folder: Path) -> str:
    """What a script of ours prints; it reads texts one by one, ended by a zero."""
    done = subprocess.run(
        [shutil.which("bash") or "bash", "--norc", "--noprofile", "-c", script],
        input="".join(text + "\0" for text in texts).encode(),
        capture_output=True,
        timeout=60,
        cwd=folder,
        env=SAFE,
        check=False,
    )
    return done.stdout.decode("utf-8", "surrogateescape")


def made(count: int, seed: int) -> list[str]:
    chance = random.Random(seed)
    return ["".join(chance.choices(WORDS, k=chance.randint(1, 8))) for _ in range(count)]


def grown(chance: random.Random, depth: int) -> list[str]:
    form = chance.choice(SCRIPTS) if depth else ["P"]
    return [piece for one in form for piece in (grown(chance, depth - 1) if one == "S" else [one])]


def scripts(count: int, seed: int) -> list[str]:
    """Scripts of all forms, most of them with a piece lost, doubled or at another place."""
    chance = random.Random(seed)
    texts = []
    for number in range(count):
        pieces = grown(chance, chance.randint(1, 4))
        for _ in range(number % 3):
            at, other = chance.randrange(len(pieces)), chance.randrange(len(pieces))
            pieces[at : at + chance.randint(0, 1)] = chance.choice([[], [pieces[other]]])
            pieces = pieces or ["P"]
        texts.append(numbered("".join(pieces)))
    return texts


def readable(text: str, *, is_posix: bool = False) -> ShellScript | None:
    try:
        return read_script(text, is_posix=is_posix)
    except UnreadableScript:
        return None


@pytest.mark.slow
def test_words_are_those_of_bash(tmp_path):
    texts = ["p " + text for text in made(6_000, 1)]
    script = (
        "p() { for w; do printf '%s\\1' \"$w\"; done; }\n"
        "while IFS= read -r -d '' t; do eval \"$t\" </dev/null 2>/dev/null; printf '\\2'; done"
    )
    printed = run_bash(script, texts, tmp_path).split("\2")[:-1]
    assert len(printed) == len(texts)
    compared = 0
    for text, real in zip(texts, printed, strict=True):
        read = readable(text)
        if read is None or len(read.steps) != 1:
            continue
        command = read.steps[0][0].commands[0]
        assert isinstance(command, Simple)
        fields = expand(command.words, NOTHING, QUIET)
        if all(is_plain(field) for field in fields):
            compared += 1
            assert [*real.split("\1")[:-1]] == fields[1:], text
    assert compared > 1_000


def seen(script: ShellScript) -> set[str]:
    """The numbers of all `p` that are judged in a script, and `ASKED` where a command is not known beforehand."""
    numbers: set[str] = set()

    def look(_: Inspection, fields, state: ScriptState, __: str):
        numbers.update(fields[1:2] if fields[0] == "p" else [] if is_plain(fields[0]) else [ASKED])
        return same(state)

    inspection = Inspection(built_in(), CommandRoots(("/srv",)), lambda _i, _t, state, _p: same(state), look)
    judge_script(inspection, script, ScriptState(frozenset({"/srv"}), NOTHING))
    return numbers


def numbered(text: str) -> str:
    parts = text.split("P")
    return parts[0] + "".join(f" p {at}q {part}" for at, part in enumerate(parts[1:]))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_no_command_that_bash_runs_is_overlooked(tmp_path, seed):
    texts = [text for text in scripts(1_500, seed) if readable(text)]
    # What runs in the background may print late, so each print tells whose it is.
    script = (
        "exec 3>&1 >/dev/null\n"
        "p() { printf '%s:%s\\1' $n \"$1\" >&3; }\n"
        "n=0; while IFS= read -r -d '' t; do (eval \"$t\") </dev/null 2>/dev/null; n=$((n + 1)); done"
    )
    printed = run_bash(script, texts, tmp_path).split("\1")[:-1]
    assert len(texts) > 300
    assert len(printed) > len(texts)
    check(printed, texts)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("dash"), reason="there is no other shell to compare with")
def test_no_command_that_another_shell_runs_is_overlooked(tmp_path):
    texts = [text for text in scripts(1_500, 7) if readable(text, is_posix=True)]
    script = (
        "exec 3>&1 >/dev/null\n"
        "f='p() { printf \"%s:%s\\001\" '\n"
        "n=0; while IFS= read -r -d '' t; do\n"
        f'{shutil.which("dash")} -c "$f$n "\'"$1" >&3; }}\n\'"$t" </dev/null 2>/dev/null; n=$((n + 1)); done'
    )
    printed = run_bash(script, texts, tmp_path).split("\1")[:-1]
    assert len(printed) > len(texts) > 200
    check(printed, texts)


def check(printed: list[str], texts: list[str]) -> None:
    found = [seen(read_script(text)) for text in texts]
    for line in printed:
        at, number = line.split(":", 1)
        assert found[int(at)] & {number, ASKED}, texts[int(at)]
