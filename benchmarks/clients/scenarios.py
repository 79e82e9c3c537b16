"""The scenarios, and the folder that a client finds before each.

Rule: everything is made from numbers, so that every run begins with the same files and has one right result.
"""

import hashlib
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from clients.scenario import Command, ReadLines, Scenario, Step

LOG_LINES = 460
CODE_LINE = 185
LONG_STEPS = 150
LONG_ROWS = 95
NEEDLE_EVERY = 25
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && cat result.txt"
"""How mini-swe-agent is told that it is done; what follows is its answer."""
GREETING = 'def greet(name):\n    return f"Good morning, {name}"\n'


def make_folder(folder: Path) -> None:
    """A small repository with a log of about 25 KB."""
    folder.mkdir(parents=True)
    (folder / "README.md").write_text("# Billing\n\nA service that writes invoices.\n", encoding="utf-8")
    (folder / "settings.ini").write_text("[server]\nport = 8461\nworkers = 4\n", encoding="utf-8")
    (folder / "greeting.py").write_text('def greet(name):\n    return f"Hello, {name}"\n', encoding="utf-8")
    (folder / "app.log").write_text("".join(map(_log_line, range(1, LOG_LINES + 1))), encoding="utf-8")
    identity = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "PATH": os.environ["PATH"]}
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], [*_who(), "commit", "-q", "-m", "Begin"]):
        subprocess.run(["git", *words], cwd=folder, env=identity, check=True, capture_output=True)


def _who() -> list[str]:
    return ["-c", "user.name=Someone", "-c", "user.email=someone@example.com"]


def _log_line(number: int) -> str:
    level = "ERROR" if number % 29 == 0 else "INFO"
    code = f" code={_digest('code')}" if number == CODE_LINE else ""
    took = number * 7919 % 997
    work = f"worker-{number % 7} invoice {number * 131 % 10_007} took {took} ms, queue {number % 13}"
    return f"{number:04d} {level:5} {work}{code}\n"


def _digest(word: str) -> str:
    return hashlib.sha256(word.encode()).hexdigest()[:8]


def short() -> Scenario:
    """Seven steps: small results, two calls at once, one large result, and some of its lines by number."""
    steps: tuple[Step, ...] = (
        (Command("ls && cat settings.ini", r"port = (?P<port>\d+)"),),
        (Command("wc -l app.log"), Command("head -3 README.md")),
        (Command("cat app.log"),),
        (ReadLines("app.log", CODE_LINE - 5, 12, r"code=(?P<code>[0-9a-f]{8})"),),
        (Command("grep -c ERROR app.log | sed 's/^/errors=/'", r"errors=(?P<errors>\d+)"),),
        (Command(r"printf 'port %s\ncode %s\nerrors %s\n' @port@ @code@ @errors@ > result.txt"),),
        (Command("cat result.txt && sha256sum result.txt", r"(?P<sum>[0-9a-f]{64})"),),
    )
    final = (
        "The port is @port@, the code @code@, and @errors@ lines are errors. result.txt has the sum @sum@."
    )
    return Scenario("Find the port, the code and the number of errors, and write result.txt.", steps, final)


def edit() -> Scenario:
    """For a client that takes whole files from the text of a reply instead of calling tools."""
    final = f"greeting.py\n```python\n{GREETING}```\n"
    return Scenario("Let greet say Good morning instead of Hello in greeting.py.", (), final)


def long() -> Scenario:
    """150 steps of about 2,000 tokens each; every 25th shows a value that the next step writes down."""
    steps = tuple(_long_step(number) for number in range(1, LONG_STEPS + 1))
    last = (Command("cp needles.txt result.txt && sha256sum result.txt", r"(?P<sum>[0-9a-f]{64})"),)
    return Scenario(
        "Run the series and write down every needle.", (*steps, last), "All needles are written down: @sum@."
    )


def needles() -> list[str]:
    return [_digest(f"needle {number}") for number in range(1, LONG_STEPS) if number % NEEDLE_EVERY == 0]


def long_result() -> str:
    """What result.txt holds where nothing was lost."""
    return "".join(f"{needle}\n" for needle in needles())


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _long_step(number: int) -> Step:
    words = f"series {number} row %d: measured %d at station %d, then %d"
    values = f"i, (i * 7919 * {number}) % 99991, (i * {number}) % 17, (i * 104729 + {number}) % 999983"
    rows = f"awk 'BEGIN {{ for (i = 1; i <= {LONG_ROWS}; i++) printf \"{words}\\n\", {values} }}'"
    before = (
        f"echo @needle{number - 1}@ >> needles.txt && "
        if number > 1 and (number - 1) % NEEDLE_EVERY == 0
        else ""
    )
    if number % NEEDLE_EVERY or number == LONG_STEPS:
        return (Command(before + rows),)
    # The value is printed by parts, so that the command itself does not show it.
    value = _digest(f"needle {number}")
    shown = f"{rows}; printf 'needle-%s%s\\n' {value[:4]} {value[4:]}"
    return (Command(before + shown, rf"needle-(?P<needle{number}>[0-9a-f]{{8}})"),)


def submitting(scenario: Scenario) -> Scenario:
    """The same for a client that ends by a command."""
    return Scenario(scenario.task, (*scenario.steps, (Command(SUBMIT),)), scenario.final)


SCENARIOS: Mapping[str, Callable[[], Scenario]] = {"short": short, "edit": edit, "long": long}
