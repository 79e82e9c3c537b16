"""What holds for every command: no text breaks the classifier, and no disguise makes a command look better."""

import shlex
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.tools.commands import built_in, judge, parse_rules
from holdfast.tools.commands.reader import read_script
from holdfast.tools.commands.rules import SEVERITY, plain_text
from holdfast.tools.commands.syntax import Simple, UnreadableScript
from tools.test_commands import ROOT, rows

PIECES = st.sampled_from(
    [
        *"'\"\\$`|&;()<>{}[]*?!#~=+-:@%^,. \n\t\0",
        *(
            "$(",
            "${",
            "$((",
            "))",
            "<(",
            "<<",
            "<<<",
            "<<-",
            ">>",
            "&>",
            "&&",
            "||",
            ";;",
            "$'",
            '$"',
            "[[",
            "]]",
        ),
        *(
            " if ",
            " then ",
            " fi ",
            " for ",
            " in ",
            " do ",
            " done ",
            " case ",
            " esac ",
            " { ",
            " } ",
            " while ",
        ),
        *(
            "rm -rf ../y",
            "ls",
            "cat",
            "echo",
            "git show",
            "EOF",
            "\nEOF\n",
            "x=",
            "$x",
            "sh -c ",
            "env ",
            "xargs ",
        ),
        *(
            "find . -exec ",
            "{} +",
            "sed -n ",
            "awk ",
            "s/a/b/",
            "cd ..",
            "f() ",
            "eval ",
            "é",
            "日本",
            "\ue000",
        ),
    ]
)
SCRIPTS = st.lists(PIECES, max_size=25).map("".join)
COMMANDS = st.sampled_from([command for _, command in rows()])
HARMLESS = st.sampled_from(
    ["ls", "true", "git status", "echo 'a b'", "cat a.txt | wc -l", "(cd src; ls)", "y=1"]
)
SIMPLE = ["env {}", "nohup {}", "xargs {}", "timeout 5 {}", "nice {}", "command {}", "exec {}", "setsid {}"]
WHOLE = ["( {}\n)", "{{ {}\n}}", 'echo "$( {}\n)"', "cat <({}\n)", "if true; then {}\nfi", "! ( {}\n)"]
LOOPS = ["while true; do {}\ndone", "for z in 1 2; do {}\ndone", "f9() {{ {}\n}}", "case x in x) {}\n;; esac"]
QUOTED = [
    "sh -c {}",
    "bash -lc {}",
    "eval {}",
    "env bash -c {}",
    "sudo sh -c {}",
    "echo {} | sh",
    "bash <<< {}",
]


def severity(command: str) -> int:
    return SEVERITY[judge(command, root=ROOT, cwd=ROOT, rules=built_in()).verdict]


def is_readable(command: str) -> bool:
    try:
        read_script(command)
    except UnreadableScript:
        return False
    return True


def simple(command: str) -> Simple | None:
    """The command if it is one command alone, with neither variables before it nor redirections."""
    if not is_readable(command) or command.endswith("&") or command.startswith("!"):
        return None
    steps = read_script(command).steps
    one = steps[0][0].commands[0] if len(steps) == 1 and len(steps[0][0].commands) == 1 else None
    return (
        one if isinstance(one, Simple) and one.words and not one.redirects and not one.assignments else None
    )


@pytest.mark.slow
@given(st.text() | SCRIPTS)
@example("$(" * 5_000)
@example("(" * 50_000)
@example("env " * 20_000 + "ls")
@example("! " * 20_000 + "ls")
@example("${x:-" * 5_000)
@example("`" * 9_999)
@example("{" * 30_000 + "," * 30_000)
@example("cat <<A <<B\nA\nB")
@example("x" * 200_000)
@example("if true; then " * 1_000)
@example("f() " * 10_000)
@example("echo " + "{a,b}" * 40)
@example("sed -n '" + "/a/," * 9_000 + "p'")
@example("for a in 1 2 3 4; do " * 20 + "eval eval eval $a" + "; done" * 20)
def test_no_text_breaks_it(text):
    found = judge(text, root=ROOT, cwd=ROOT, rules=built_in())
    assert found.verdict in SEVERITY
    assert found.reason
    assert len(found.part) <= 200


def requoted(text: str, how: list[int]) -> str:
    """The same text in other quotes, character by character."""
    forms = [
        lambda c: c if c.isalnum() or c in "/.-_" else shlex.quote(c),
        lambda c: "\\" + c if c != "\n" else "'\n'",
        lambda c: f"'{c}'" if c != "'" else '"\'"',
        lambda c: f'"{c}"' if c not in '"\\$`' else "'" + c + "'",
        lambda c: f"$'\\x{ord(c):02x}'" if 0 < ord(c) < 128 else shlex.quote(c),
        lambda c: "''" + shlex.quote(c),
        lambda c: "\\\n" + shlex.quote(c),
    ]
    return (
        "".join(forms[how[at % len(how)] % len(forms)](character) for at, character in enumerate(text))
        or "''"
    )


@given(COMMANDS, st.lists(st.integers(0, 6), min_size=1, max_size=9))
def test_other_quotes_change_nothing(command, how):
    one = simple(command)
    if one is None or plain_text(one.words[0]) is None:
        return
    words = [word.raw if (text := plain_text(word)) is None else requoted(text, how) for word in one.words]
    assert severity(" ".join(words)) == severity(" ".join(word.raw for word in one.words)), words


@given(COMMANDS, HARMLESS, st.sampled_from(["&&", ";", "||", "|", "&", "\n"]))
def test_another_command_beside_it_never_lowers_the_verdict(command, other, joint):
    if simple(command):
        assert severity(f"{command} {joint} {other}") >= severity(command)
        assert severity(f"{other} {joint} {command}") >= severity(command)
    elif is_readable(command) and not command.endswith("&"):
        # A pipe takes what the first command sets away from those behind it: that is then asked about.
        assert severity(f"{other} {joint} {command}") >= (
            min(severity(command), 1) if joint == "|" else severity(command)
        )
        assert severity(f"{command}\n{other}") >= severity(command)


@given(COMMANDS, st.sampled_from(WHOLE + QUOTED))
def test_wrapping_keeps_the_verdict(command, wrapping):
    if not is_readable(command):
        return  # half a command may become a whole one
    text = shlex.quote(command) if wrapping in QUOTED else command
    wanted = severity(command)
    if wrapping == QUOTED[5] and ("\\" in command or command.startswith("-")):
        wanted = min(wanted, 1)  # what `echo` prints is not known then
    assert severity(wrapping.format(text)) >= wanted


@given(COMMANDS, st.sampled_from(LOOPS))
def test_wrapping_in_what_runs_again_never_allows(command, wrapping):
    assert severity(wrapping.format(command)) >= min(severity(command), 1)


@given(COMMANDS, st.sampled_from(SIMPLE))
def test_a_program_that_runs_it_keeps_the_verdict(command, wrapping):
    if one := simple(command):
        # Words that `xargs` adds take the place of the target that stood last.
        is_copy = wrapping == "xargs {}" and one.words[0].literal in ("cp", "mv")
        assert severity(wrapping.format(command)) >= (1 if is_copy else severity(command))


@given(COMMANDS, COMMANDS)
def test_a_deny_of_a_person_is_never_lifted(command, other):
    one = simple(command)
    if one and all(word.literal and plain_text(word) for word in one.words):
        pattern = f"Bash({shlex.join([word.literal for word in one.words])})"
        rules = parse_rules({"deny": [pattern], "allow": [pattern, "Bash"]}, "x")
        assert judge(command, root=ROOT, cwd=ROOT, rules=rules).verdict == "deny"
        if simple(other) and "#" not in other:  # Behind a comment nothing is run.
            joined = judge(f"{other} && {command}", root=ROOT, cwd=ROOT, rules=rules)
            assert joined.verdict != "allow"


@pytest.mark.parametrize(
    "piece", ["ls; ", "echo $(ls) ", "(ls) ; ", "echo '", "x=1; ", "cat <<E\nx\nE\n", "echo {a,b}; "]
)
def test_time_grows_with_the_length_only(piece):
    """Counted in steps of the reader, not by a clock: four times the text, at most five times the steps."""
    few, many = steps_for(piece * 100), steps_for(piece * 400)
    assert many <= 5 * few


def steps_for(text: str) -> int:
    count = 0

    def tick(*_: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(tick)
    try:
        judge(text, root=ROOT, cwd=ROOT, rules=built_in())
    finally:
        sys.setprofile(None)
    return count
