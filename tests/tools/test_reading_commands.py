"""The small grammar of commands that only read: what it knows, and what it must never take for reading."""

import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.tools.permissions.decision import is_spelled_outside
from holdfast.tools.permissions.plain_commands import NotPlainError, split_commands
from holdfast.tools.permissions.reading_commands import StrictScope, why_not_reading

HERE = Path(__file__).parent
ORDINARY = [line for line in (HERE / "reading_commands.txt").read_text("utf-8").splitlines() if line]
"""Commands that people and agents type to look at something."""


def test_few_ordinary_commands_are_asked_about():
    asked = [command for command in ORDINARY if not only_reads(command)]
    assert len(ORDINARY) >= 350
    assert asked == ["ls -a ~", "python3 -c 'print(1 + 1)'", "wc -l < README.md"]


def only_reads(command, *, in_sandbox=True):
    return why_not_reading(command, None if in_sandbox else StrictScope(is_spelled_outside)) is None


def rows():
    lines = (HERE / "commands.tsv").read_text("utf-8").splitlines()
    parts = [line.split("\t") for line in lines if line and not line.startswith("# ")]
    return [(label, command.replace("⏎", "\n")) for label, command, _ in parts]


def test_the_table_of_commands():
    labels = {command: label for label, command in rows()}
    assert len(labels) == len(rows()) >= 800
    found = {command: "unasked" if only_reads(command) else "asked" for command in labels}
    assert {command: label for command, label in found.items() if label != labels[command]} == {}


def test_where_a_mistake_would_count_no_more_is_called_reading():
    strict = [command for _, command in rows() if only_reads(command, in_sandbox=False)]
    assert len(strict) > 50
    assert [command for command in strict if not only_reads(command)] == []
    assert [command for command in strict if "/etc" in command or ".." in command] == [
        "git log main..HEAD --stat",
        "git diff --stat HEAD~3..HEAD",
    ]


@pytest.mark.parametrize(
    "command",
    [
        "sed -e1e -e p a",
        "sed -une1e -e p a",
        "printf 'abc%n' PATH; ls",
        "sdiff --diff-program=./evil a b",
        "diff d e",
        "ls -LR",
        "md5sum -c sums",
        "git branch --sort=refname new",
        "git branch --list --no-list new",
        "git tag --format=x new",
        "git log --output=x",
        "git -C sub status",
        "grep TOP *",
        "grep x ./*/../../y",
        "du -a *",
        "wc ''-*",
        "cat -- -x",
        "sort -- -k",
        "sort -o a b",
        "sort -S1k --compress-program=./evil a",
        "tail -f a",
        "cat ??",
        "cat .*/secret",
        "cat src/.*",
        "cat -n*",
        "cat " + "./" * 1_950 + "x",
        "find . -files0-from x",
        "rg --pre ./run x",
        "python3 -m json.tool a",
        "make -n",
        "cd src",
        "xargs cat",
        "tar tf a:b",
        "git tag +2",
        "git branch +x",
        "uniq pair/*",
        "sed -n s,a/*,x,p README",
        "rg x",
        "rg --files",
        "git remote show show",
    ],
)
def test_what_could_do_more_in_the_wrong_place_is_no_reading_there(command):
    assert not only_reads(command, in_sandbox=False)


@pytest.mark.parametrize(
    "command",
    [
        "ls -la",
        "cat src/*.py",
        "cat ./*.md",
        "grep -rn foo src | head -20",
        "git log --oneline -5",
        "git status -s && git diff --stat HEAD~1",
        "sed -n '1,20p' a",
        "find . -name '*.py' -type f",
        "sort -k2 a | uniq -c",
        "cut -d: -f1 a",
        "date +%F",
    ],
)
def test_the_usual_ways_to_look_are_reading_everywhere(command):
    assert only_reads(command, in_sandbox=False)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "   ",
        "prlimit() { :; }; unset prlimit; prlimit touch m",
        "{ prlimit() { :; }; } < nofile; prlimit touch m",
        "x=touch; { x=cat; } >&9; $x m",
        "readonly x=touch; x=cat; $x m",
        "{awk,} 'BEGIN{system(\"touch m\")}'",
        "RANDOM='a[$(touch m)]'",
        "declare -l p; p=DOCS; cat $p",
        "mv docs/dir docs/new && echo changed > docs/new/link",
        "cat $(ls)",
        "cat `ls`",
        "cat <(ls)",
        "cat a > b",
        "cat a >> b",
        "cat a >/dev/nullx",
        "cat a 2> errors",
        "cat a &> both",
        "cat a & rm b",
        "cat a |& tee b",
        "PATH=. cat a",
        "cat a; x=1",
        "echo ~root",
        'echo "$HOME"',
        'echo "`id`"',
        "echo {a,b}",
        "! cat a",
        "# only a comment",
        "cat a # b\nrm c",
        "echo \\ #; touch m",
        "echo \\;#; touch m",
        "echo \u00a0#; touch m",
        "echo x\\\n#; touch m",
        "tr\\\nuncate -s 0 a",
        "cat ../sec\\\nret",
        "cat n\r",
        'cat "\\\x01\x7f"',
        "do[\n ]b{}",
        "git tag +2",
        "git branch +x",
        "cat a=~/key",
        "cat a:~/key",
        "sort ''*",
        "sort \\-*",
        "find ''-d*",
        "sed 1d ''*",
        "sed --expression='1e touch m' -e p a",
        "sed -e p -nEe 'w m' a",
        "sed -l 1d '1e touch m' a",
        "uniq - a",
        "uniq -- -x a",
        "git var -l",
        "cat a #\\\nrm b",
        "cat a\\\n; rm b",
        "find . -delete -exec cat {} +",
        "find . -exec cat {} + -delete",
        "find . -exec cat {} + -exec rm {} +",
        "find . -name x | xargs rm",
        "xargs",
        "timeout 5 touch m",
        "nice xargs -n 1 touch",
        "set -- a; cat b; set -o history x",
        "cat a &&",
        "cat a |",
        "| cat a",
        "cat a;; cat b",
        "cat 'a",
        'cat "a',
        "sort -o a b",
        "sort --outp=a b",
        "sort -ro a",
        "uniq a b",
        "find . -delete",
        "find . -exec rm {} +",
        "fd -x rm",
        "rg --pre ./run x",
        "sed -i s/a/b/ f",
        "sed -n 'w out' f",
        "sed 's/a/b/w out' f",
        "sed 's/a/touch m/e' f",
        "sed -e p -e 'w out' f",
        "sed '1e touch m' f",
        "awk 'BEGIN { system(\"touch m\") }'",
        "awk '{ print > \"out\" }' f",
        "awk '{ print $1,\n $2 > \"out\" }' f",
        "awk '{ print | \"sh\" }' f",
        "awk -f script f",
        "git -c core.pager=touch log",
        "git log --output=x",
        "git diff --ext-diff",
        "git branch new",
        "git branch -D old",
        "git tag v2",
        "git remote add origin x",
        "git reflog expire --all",
        "git config user.name x",
        "git config --get user.name --unset",
        "git stash",
        "git submodule update",
        "tar xf release.tar",
        "tar -tf release.tar --to-command=sh",
        "unzip release.zip",
        "date -s 2020-01-01",
        "date 010203042020",
        "printf -v PATH x",
        "test -v 'a[$(touch m)]'",
        "hostname new-name",
        "npm run test",
        "npm install",
        "pip install requests",
        "ruff check --fix .",
        "black .",
        "prettier --write .",
        "make",
        "make test",
        "python3 script.py",
        "bash script.sh",
        "./cat a",
        "/tmp/cat a",
        "unknown --version",
        "sort -*",
        "sort *",
        "xxd -r a b",
        "tee a",
        "touch m",
    ],
)
def test_what_may_change_something_is_no_reading(command):
    assert not only_reads(command)


@pytest.mark.parametrize(
    "command",
    [
        "cat *.md",
        "wc -l src/*.py",
        "ls [a-c]*",
        "grep -n 'a$b `c` (d) {e}' f",
        'grep "a\\.b" f',
        "grep a\\ b f",
        "find . \\( -name a -o -name b \\) -print",
        "ls 2>&1 | head -3 2>/dev/null",
        "cat a && cat b || echo no; ls",
        "cat a\nls",
        "[ a != b ]",
        "ls < /dev/null &>/dev/null",
        "git -C ../other --no-pager log -1",
        "date +%F",
        "date -d yesterday +%F",
        "echo a#b c!d e~f",
        "# what is here\nls\n\ncat a  # and there\n",
        "cat a &&\n  cat b",
        "cat a \\\n  b",
        "cd src && ls",
        "find . -name '*.py' -exec grep -l TODO {} +",
        "find . -name '*.py' -exec head -1 {} \\;",
        "find . -name '*.py' | xargs -I{} wc -l {}",
        "git ls-files | xargs -0 -n 1 wc -l",
        "timeout 5s grep -r x .",
        "time ls",
        "set -euo pipefail; ls",
        "awk -F: '$3 == 0 || /a|b/ {print $1 \" > \" $2}' f",
    ],
)
def test_what_only_reads_in_another_form_is_known(command):
    assert only_reads(command)


@pytest.mark.parametrize(
    "command", ["mypy src", "ruff check .", "npm ls", "make -n", "pytest --collect-only"]
)
def test_what_runs_settings_of_the_project_reads_only_in_a_sandbox(command):
    assert only_reads(command)
    assert not only_reads(command, in_sandbox=False)


def test_git_reads_strictly_only_in_a_repository_of_the_workspace():
    for command in ("git diff", "git status -s", "ls && git log -p"):
        assert why_not_reading(command, StrictScope(is_spelled_outside)) is None
        assert why_not_reading(command, StrictScope(is_spelled_outside, has_git=False))


@given(st.text(max_size=60) | st.text(alphabet="ab $`'\"\\|&;<>(){}*?[]~!#=\n-/", max_size=60))
def test_no_text_makes_it_fail(text):
    assert only_reads(text) in (True, False)
    assert not only_reads(f"{text}\n$x")
    assert not only_reads(f"rm x; {text}")


def test_a_script_is_no_reading():
    assert not only_reads("cat a\n" * 2_000)


RECORDING = """
command_not_found_handle() { printf '%s\\0' "$@" END >> "$RECORD"; }
eval "$1" 2> /dev/null
exit 0
"""
PIECES = "a b - / . = : 1 ' \" \\ # ; | & && || * ? [a] {} { ~ ! $ ` ( 2>&1 >/dev/null".split()
PIECES += [" ", "  ", "\t", "\n", "\r", "\u00a0", "\\\n", "a b", "a 'b'", "a #"]


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
@settings(max_examples=300)
def test_bash_runs_nothing_else_than_the_commands_that_were_read(text):
    try:
        known = [command.texts for command in split_commands(text)]
    except NotPlainError:
        return
    # Nothing is found on this path, so bash hands every command to its handler, words and all.
    with tempfile.TemporaryDirectory() as top:
        folder, record = Path(top, "folder"), Path(top, "record")
        folder.mkdir()
        subprocess.run(
            ["/bin/bash", "--noprofile", "--norc", "-c", RECORDING, "bash", text],
            cwd=folder,
            env={"PATH": "/nonexistent", "HOME": top, "RECORD": str(record)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=True,
            timeout=60,
        )
        assert list(folder.iterdir()) == []
        said = record.read_bytes().decode() if record.exists() else ""
    ran = [words.split("\0")[:-1] for words in said.split("END\0")[:-1]]
    assert [words for words in ran if words not in known] == []
