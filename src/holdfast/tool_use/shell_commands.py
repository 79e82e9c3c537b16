"""Shell scripts as their simple commands: words without quotes, pipes, and where output goes.

Rule: nothing is run. No script can make the reading fail, and it takes linear time.
"""

import re

from msgspec import Struct

LONGEST = 200_000
"""Characters of a script that are looked at."""

# Possessive, and no text after the mark is no failure: trying every split, or every mark to the end, would take
# quadratic time.
_HERE = re.compile(
    r"(?<!<)<<-?[ \t]*+\\?(['\"]?)(\w++)\1([^\n]*+)(?:\n.*?(?:\n[ \t]*+\2\b|\Z)|\Z)", re.DOTALL
)
_TOKEN = re.compile(
    r"(?P<gap>[ \t\r]+|\\\n)|(?P<comment>#[^\n]*)|(?P<end>&&|\|\||[;\n()`]|\||\$\(|&(?![>\d]))"
    r"|(?P<out>(?:\d|&)?>>?\|?)(?P<fd>&\d|&-)?|(?P<in>\d?<{1,3})"
    r"|(?P<word>(?:'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.|[^\s'\"\\;|&()<>`])+)|(?P<odd>.)",
    re.DOTALL,
)
_QUOTES = re.compile(r"'([^']*)'|\"((?:\\.|[^\"\\])*)\"|\\(.)", re.DOTALL)
_SET = re.compile(r"\w+=")
_LEADING = frozenset({"sudo", "time", "env", "nohup", "command", "exec", "then", "do", "else", "{", "!"})
_SHELLS = frozenset({"bash", "sh", "zsh", "dash"})
_JS_COMMAND = re.compile(
    r"exec_command\(\{.{0,40}?cmd\"?: ?(?:\"((?:\\.|[^\"\\])*)\"|`((?:\\.|[^`\\])*)`)", re.DOTALL
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


class SimpleCommand(Struct, gc=False):
    """One command of a script: its words without their quotes, and the files its output goes to."""

    words: list[str]
    outputs: list[tuple[str, bool]]
    """Path, and whether the output is added to the file."""
    is_piped: bool = False
    """Whether it reads what the command before it wrote."""
    is_silent: bool = False
    """Whether its output, and not only its errors, goes to a file or nowhere."""

    @property
    def program(self) -> str:
        return self.words[0].rsplit("/", 1)[-1] if self.words else ""


def without_heredocs(script: str) -> str:
    """The script with its here-documents left out, but for the line that begins each."""
    return _HERE.sub(lambda m: m[0].split("\n", 1)[0], script[:LONGEST]) if "<<" in script else script


def simple_commands(script: str) -> list[SimpleCommand]:
    """The commands of a script in order, those of a pipe one by one; here-documents hold no commands."""
    text = _HERE.sub(r"\3", script[:LONGEST]) if "<<" in script else script[:LONGEST]
    commands, current, place = list[SimpleCommand](), SimpleCommand([], []), ""
    for token in _TOKEN.finditer(text):
        match token.lastgroup:
            case "end":
                commands.append(current)
                current, place = SimpleCommand([], [], token["end"] == "|"), ""
            case "out" | "fd":
                place = "" if token["fd"] else token["out"]
            case "in":
                place = "<"
            case "word":
                word = _unquoted(token["word"])
                if place in ("", "<"):
                    current.words += [word] if not place else []
                else:
                    current.outputs.append((word, ">>" in place))
                    current.is_silent = current.is_silent or not place.startswith("2")
                place = ""
            case _:
                pass
    commands.append(current)
    for command in commands:
        while command.words and (command.words[0] in _LEADING or _SET.match(command.words[0])):
            del command.words[0]
    return [command for command in commands if command.words or command.outputs]


def _unquoted(word: str) -> str:
    return _QUOTES.sub(lambda m: m[1] if m[1] is not None else m[2] if m[2] is not None else m[3], word)


def script_given_to_shell(words: list[str]) -> str | None:
    """The script in words such as `bash -lc script`; None where they start no shell with one."""
    is_shell = len(words) > 2 and words[0].rsplit("/", 1)[-1] in _SHELLS
    return words[2] if is_shell and re.fullmatch(r"-[a-z]*c", words[1]) else None


def script_in_program(program: str) -> str:
    """The commands that a program in JavaScript gives to a shell; the text itself where it is no such program."""
    if "exec_command(" not in program:
        return program
    inner = [
        _ESCAPED.sub(lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), quoted or template)
        for quoted, template in _JS_COMMAND.findall(program[:LONGEST])
    ]
    return "\n".join(inner) or program
