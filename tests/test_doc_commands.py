"""Every command of the READMEs and the documents runs as it is written, in a fresh environment.

The environment is a copy of the checkout, an empty home, a virtual environment into which `pip install .` has put
Holdfast, and a provider on loopback. Blocks marked `sh` are run line by line, in the order of their page, as a
reader would. Recordings that a page names and the project does not have are stood in for by the one that it has.

Rule: what is not run here is listed with the reason, and the list may not name a command that no page has.
"""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from itertools import filterfalse
from pathlib import Path

import pytest

from support.agent_runs import Answering, says
from support.pair_runs import hand_over, write
from support.provider_script import Script
from support.provider_server import ProviderServer, running
from support.review_example import example
from support.review_repos import Repo
from support.terminal_pty import Pty
from test_docs import ROOT, code_blocks, named

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("uv") is None, reason="uv, which makes the environment, is not installed"
    ),
]

PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "examples").glob("*/README.md")),
]

NOT_RUN = {
    "pip install -q uv && uv run -q pytest -n auto": "the tests themselves; `.ci/run` runs it word for word",
    "HOLDFAST_LOCAL_MODEL=": "needs a model file and llama.cpp",
    "HOLDFAST_RECORDINGS=": "needs recordings in which another agent compacted its context",
    "holdfast wrap ": "needs the agent; tests/cli/test_cli_gateway.py wraps others",
    "holdfast gateway": "runs until it is ended, in tests/cli/test_cli_gateway.py",
    "holdfast view": "runs until it is ended, in tests/cli/test_cli_view.py",
    "createdb ": "needs a PostgreSQL server; tests/cli/test_cli_postgres.py has one",
    "HOLDFAST_STORE=postgresql": "likewise",
    "python benchmarks/peers/environments.py": "installs every framework; `.ci/run` does so for three",
    "uv run pytest tests/adapters tests/library": "the tests themselves",
    "#!/bin/sh": "a hook of git, run by tests/cli/test_cli_review_ends.py",
}
RUN_ALL_THE_SAME = ("holdfast gateway stats",)
ON_A_TERMINAL = ("holdfast",)
WAITS_FOR_APPROVAL = 17
CODES = {
    'holdfast pair refunds -p "design and build a refund API"': WAITS_FOR_APPROVAL,
    "holdfast pair refunds": WAITS_FOR_APPROVAL,
}
"""What ends with another code than 0: without a terminal, a design waits for its approval."""

LONG = {"cc__one", "recordings/one", "codex__chikachow-cyspbot", "pi-mono", "polybench-iswe-java"}
"""Stand-ins that are whole, for `--at-least 60k`; the others are its first messages."""
MESSAGES_OF_A_SHORT_ONE = 100


def commands(page: Path) -> list[str]:
    """The commands in a page's `sh` blocks, continued lines joined and comments left to the shell."""
    found: list[str] = []
    for language, code in code_blocks(page):
        if language == "sh" and code.startswith("#!"):
            found.append(code)
        elif language == "sh":
            found += [line for line in code.replace("\\\n", "").splitlines() if line.strip()]
    return found


def reason_not_to_run(command: str) -> str:
    if command.startswith(RUN_ALL_THE_SAME):
        return ""
    return next((reason for start, reason in NOT_RUN.items() if command.startswith(start)), "")


ALL = {page: commands(page) for page in PAGES if commands(page)}


def test_exceptions_name_commands_that_exist() -> None:
    every = [re.sub(r"\s+#.*", "", command) for found in ALL.values() for command in found]
    assert [start for start in NOT_RUN if not any(command.startswith(start) for command in every)] == []
    assert [command for command in (*ON_A_TERMINAL, *CODES) if command not in every] == []


class Playground:
    """A reader's machine: a checkout, a home, an environment and a provider.

    **Contract:** `run` fails the test with all that a command printed, if it ends with another code than expected.
    """

    def __init__(self, place: Path, environment: Path, server: ProviderServer) -> None:
        self.checkout = place / "checkout"
        copy_checkout(self.checkout)
        (place / "home").mkdir()
        self.env = {
            "HOME": str(place / "home"),
            "LANG": "C.UTF-8",
            "PATH": os.pathsep.join([str(environment / "bin"), os.environ["PATH"]]),
            "UV_CACHE_DIR": cache_of_uv(),
            "UV_TOOL_DIR": str(place / "tools"),
            "UV_TOOL_BIN_DIR": str(place / "tool-bin"),
            "ANTHROPIC_BASE_URL": server.url,
            "ANTHROPIC_API_KEY": "a key for loopback",
            **{
                name: os.environ[name] for name in os.environ if name.startswith(("PIP_", "SSL_", "UV_INDEX"))
            },
        }

    def run(self, command: str, folder: Path) -> str:
        if match := re.fullmatch(r"export (\w+)=(\S+).*", command):
            self.env[match[1]] = match[2]
            return ""
        shown = re.sub(r"\s+#.*", "", command)
        if shown in ON_A_TERMINAL:
            return self._on_a_terminal(shown, folder)
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == CODES.get(shown, 0), (
            f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        )
        return done.stdout

    def _on_a_terminal(self, command: str, folder: Path) -> str:
        bash = shutil.which("bash")
        assert bash
        terminal = Pty([bash, "-c", command], folder, **self.env)
        try:
            terminal.read_until(b"\x1b[?2004h")  # bracketed paste: the screen takes input
            terminal.write(b"/exit\r")
            assert terminal.code() == 0, terminal.sent[-3000:]
        finally:
            terminal.close()
        return ""


def copy_checkout(target: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def cache_of_uv() -> str:
    return subprocess.run(["uv", "cache", "dir"], capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with `pip` and Holdfast from a wheel, as `pip install '.[fit,review]'` leaves it."""
    place = tmp_path_factory.mktemp("environment")
    checkout, made = place / "checkout", place / "venv"
    copy_checkout(checkout)
    subprocess.run([sys.executable, "-m", "venv", made], check=True)
    probe = subprocess.run(
        [made / "bin" / "pip", "download", "-q", "--no-deps", "-d", place, "hatchling"],
        capture_output=True,
        text=True,
        check=False,
    )
    if probe.returncode:
        pytest.skip(f"packages cannot be installed here: {probe.stderr.strip().splitlines()[-1]}")
    subprocess.run(
        ["uv", "pip", "install", "-q", "--python", made / "bin" / "python", ".[fit,review]"],
        cwd=checkout,
        check=True,
    )
    return made


def recordings_named(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w/*])((?:recordings/)?[\w-]+\.jsonl\.gz)", text))


def stand_in(checkout: Path, page: Path) -> None:
    """Recordings by the names that a page uses."""
    whole = json.loads((ROOT / "examples" / "recordings" / "inventory.jsonl").read_text("utf-8"))
    short = {**whole, "messages": whole["messages"][:MESSAGES_OF_A_SHORT_ONE]}
    (checkout / "recording.jsonl").write_text(json.dumps(whole))
    (checkout / "recordings").mkdir()
    text = page.read_text("utf-8")
    patterns = {
        "recordings/*": ["recordings/one.jsonl.gz", "recordings/two.jsonl.gz"],
        "cc__*": ["cc__one.jsonl.gz"],
    }
    names = recordings_named(text).union(*(made for pattern, made in patterns.items() if pattern in text))
    for name in names:
        content = whole if name.removesuffix(".jsonl.gz") in LONG else short
        (checkout / name).write_bytes(gzip.compress(json.dumps({**content, "id": name}).encode()))


def folder_for(page: Path, checkout: Path) -> Path:
    """Where a reader of this page works: the reviewer's page speaks of a repository with a branch and a change."""
    if page.name != "review.md":
        repo = Repo(checkout)
        repo.commit()
        return checkout
    repo = example(checkout / "shop-repository")
    repo.git("checkout", "-q", "-b", "change")
    repo.commit({"shop/ship.py": "def ship(order):\n    return order.address\n"})
    repo.write("shop/ship.py", "def ship(order):\n    breakpoint()\n    return order.address\n")
    return repo.folder


def answer(body: dict) -> Script:
    """A model that does the least: the pair's first agent writes a design, all others say a sentence."""
    tools = {tool.get("name") for tool in body.get("tools", [])}
    if "HandOver" in tools and not any(message["role"] == "assistant" for message in body["messages"]):
        return says(*write("design.md", "1. build\n"))
    if "HandOver" in tools:
        return says(*hand_over("design.md", design=["design.md"]))
    return says("Because a quote is missing in build.sh.")


@pytest.mark.parametrize("page", ALL, ids=named)
def test_every_command_runs_as_written(page: Path, environment: Path, tmp_path: Path) -> None:
    with running(Answering(answer)) as server:
        ground = Playground(tmp_path, environment, server)
        stand_in(ground.checkout, page)
        folder = folder_for(page, ground.checkout)
        for command in filterfalse(reason_not_to_run, ALL[page]):
            # The peers' command installs other people's libraries: only its names and options are tried.
            listing = " --list" if command.startswith("python benchmarks/peers/run.py") else ""
            ground.run(command + listing, folder)
