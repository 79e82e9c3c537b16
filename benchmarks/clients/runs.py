"""One run of one client: directly at the provider, or through the gateway.

Rule: each run has its own provider, gateway, home and repository, so that no run sees another's cache or files.
"""

import contextlib
import hashlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from clients.client_programs import ClientProgram, Ended, Place, minimal_environment
from clients.provider import Provider, RequestNote, serving
from clients.scenario import Scenario
from clients.scenarios import make_folder
from clients.tap import Tap

DIRECT = "direct"
MODES = ("watch", "safe", "fold")
ADDRESS = re.compile(r"listening on (http://\S+)")


class CannotRun(Exception):
    """Why a run did not take place."""


class ClientRun(Struct, kw_only=True):
    """What came of a run. `files` are the digests of what it left; `refused` is what the provider answered with
    400, `received` what reached the client; `waits` are the seconds until each answer began."""

    client: str
    version: str
    mode: str
    answer: str
    files: dict[str, str]
    exit_code: int
    seconds: float
    notes: list[RequestNote]
    received: list[str]
    waits: list[float]
    printed: str = ""

    @property
    def refused(self) -> list[RequestNote]:
        return [note for note in self.notes if note.status >= 400]

    @property
    def rules(self) -> list[str]:
        """Rules that requests broke. That a prompt is too long is none: a gateway may ask again with a shorter."""
        return sorted(rule for note in self.notes if not note.is_too_long for rule in note.rules)

    @property
    def extending(self) -> tuple[int, int]:
        known = [note.extends for note in self.notes if note.extends is not None]
        return sum(known), len(known)

    @property
    def dollars(self) -> float:
        return sum(note.dollars or 0.0 for note in self.notes)

    @property
    def first_byte(self) -> float:
        """Seconds from a request to the beginning of its answer, the median."""
        return statistics.median(self.waits) if self.waits else 0.0

    @property
    def fixed(self) -> int:
        """Tokens of the client's tools and system prompt."""
        return max(
            (note.fixed for note in self.notes if note.conversation not in ("side", "counting")), default=0
        )

    @property
    def largest(self) -> int:
        return max((note.prompt for note in self.notes if note.status == 200), default=0)


def run_client(
    client: ClientProgram,
    scenario: Scenario,
    mode: str,
    *,
    budget: str,
    window: int = 0,
    limit: float = 300.0,
    gateway_options: Sequence[str] = (),
) -> ClientRun:
    """Run a client to its end. Raises CannotRun."""
    with tempfile.TemporaryDirectory(prefix="clients-") as place, contextlib.ExitStack() as stack:
        home, folder = Path(place, "home"), Path(place, "work")
        home.mkdir()
        make_folder(folder)
        adapted = client.adapt(scenario)
        provider = Provider(adapted, folder=str(folder), window=window)
        url = stack.enter_context(serving(provider))
        if mode != DIRECT:
            options = [*mode_options(mode, budget), *gateway_options]
            url = stack.enter_context(gateway(url, Path(place, "gateway.db"), options))
        tap = Tap(url)
        url = stack.enter_context(serving(tap))
        started = client.start(Place(url, home, folder, adapted.task))
        began = time.perf_counter()
        try:
            done = subprocess.run(
                [str(client.package.path), *started.arguments],
                cwd=folder,
                env=minimal_environment(home, started.environment),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            said = (error.stderr or b"")[-400:].decode("utf-8", "replace")
            raise CannotRun(f"no end after {limit:g} s and {len(provider.notes)} requests: {said}") from None
        seconds = time.perf_counter() - began
        printed = done.stdout.decode("utf-8", "replace")
        return ClientRun(
            client=client.name,
            version=client.package.version,
            mode=mode,
            answer=_answer(client, printed, home),
            files=left_files(folder, client.leaves),
            exit_code=done.returncode,
            seconds=seconds,
            notes=provider.notes,
            received=tap.refusals,
            waits=tap.waits,
            printed=printed + done.stderr.decode("utf-8", "replace"),
        )


def _answer(client: ClientProgram, printed: str, home: Path) -> str:
    try:
        return client.answer(Ended(printed, home))
    except (ValueError, KeyError, OSError):
        return ""


def left_files(folder: Path, without: Sequence[str]) -> dict[str, str]:
    """Digests of the files that a run left, by their names."""
    out = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not name.startswith((".git/", *without)):
            out[name] = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    return out


def mode_options(mode: str, budget: str) -> list[str]:
    """The options of `holdfast gateway` for a mode. A gateway that has no modes only watches."""
    if not has_modes():
        if mode != "watch":
            raise CannotRun("`holdfast gateway` has no `--mode`")
        return []
    return ["--mode", mode, *(["--budget", budget] if mode == "fold" else [])]


def has_modes() -> bool:
    words = [sys.executable, "-m", "holdfast", "gateway", "--help"]
    return "--mode" in subprocess.run(words, capture_output=True, text=True, check=True).stdout


@contextlib.contextmanager
def gateway(upstream: str, store: Path, options: Sequence[str]) -> Iterator[str]:
    """`holdfast gateway` as a process of its own; its address."""
    words = [sys.executable, "-m", "holdfast", "gateway", "--port", "0", "--store", str(store), *options]
    words += ["--anthropic", upstream, "--openai", f"{upstream}/v1", "--gemini", upstream]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    said = ""
    try:
        for line in process.stderr:
            said += line
            if found := ADDRESS.search(line):
                yield found[1]
                break
        else:
            raise CannotRun(f"the gateway did not start: {said.strip()[-300:]}")
    finally:
        process.terminate()
        process.communicate(timeout=30)
