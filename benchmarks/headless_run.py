"""What one reply without a screen costs: processor time and memory of `holdfast run`, beside other agents.

    uv run python benchmarks/headless_run.py [--runs 5] [--only holdfast,codex] [--steps 200]

A provider on loopback answers with one sentence at once, so that only the client is measured: start, request,
reply, end. Each run has a new home and a new repository. Processor time is that of the whole process tree, user and
system, as `wait4` has it; memory is the peak of its largest process. The baseline is an interpreter that does
nothing. The first run of each warms the disk up and is not counted. Other agents are measured where
`benchmarks/clients/installed.py` has installed them.

With `--steps` there are so many commands before the reply, each of which prints about 500 tokens: what an agent
holds after many steps. aider lets no model call commands and is left out.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from clients.client_programs import CLIENTS, ClientProgram, Ended, Place, Start, minimal_environment
from clients.provider import Provider, serving
from clients.scenario import Command, Scenario
from clients.scenarios import make_folder
from msgspec import Struct

BAR = 0.8
LONGEST = 1_800.0
OTHERS = ("claude", "codex", "opencode", "gemini", "qwen", "pi", "mini", "aider")
ENDING = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && echo It writes invoices."
"""mini-swe-agent ends by a command, which is its one reply."""
REPLY = Scenario("Say what this project is.", (), "It is a service that writes invoices.")
COMMAND = "seq -f 'step {}, line %g: nothing to see here' 1 40"
METER = """
import json, os, sys
out, err, *words = sys.argv[1:]
new = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
pid = os.posix_spawnp(words[0], words, os.environ, file_actions=[
    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
    (os.POSIX_SPAWN_OPEN, 1, out, new, 0o600),
    (os.POSIX_SPAWN_OPEN, 2, err, new, 0o600)])
_, status, used = os.wait4(pid, 0)
print(json.dumps([os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss]))
"""
"""Starts the client from a small process: the system counts the memory of the one that starts it, too."""


class Used(Struct, frozen=True):
    """Seconds of processor time, and megabytes."""

    cpu: float
    memory: float


def _holdfast(place: Place) -> Start:
    words = ["-m", "holdfast", "run", "-p", place.task, "--model", f"compatible/gpt-6-sol@{place.url}/v1"]
    return Start(words, {"HOLDFAST_STORE": str(place.home / "store.db")})


def _said(ended: Ended) -> str:
    return ended.printed.strip()


OURS = ClientProgram("holdfast", "chat", "gpt-6-sol", _holdfast, _said)
NOTHING = ClientProgram("python alone", "", "", lambda _: Start(["-c", "print('Hello')"]), _said)


def scenario_for(client: ClientProgram, steps: int) -> Scenario:
    if steps:
        commands = tuple((Command(COMMAND.format(n)),) for n in range(1, steps + 1))
        return client.adapt(Scenario(REPLY.task, commands, REPLY.final))
    if client.name == "mini":
        return Scenario(REPLY.task, ((Command(ENDING),),), REPLY.final)
    return client.adapt(REPLY)


def program(client: ClientProgram) -> Path:
    return Path(sys.executable) if client in (OURS, NOTHING) else client.package.path


def run_once(client: ClientProgram, steps: int) -> Used:
    with tempfile.TemporaryDirectory(prefix="run-") as name:
        home, folder = Path(name, "home"), Path(name, "work")
        out, err = Path(name, "out"), Path(name, "err")
        home.mkdir()
        make_folder(folder)
        scenario = scenario_for(client, steps)
        with serving(Provider(scenario, folder=str(folder))) as url:
            start = client.start(Place(url, home, folder, scenario.task))
            done = subprocess.run(
                [sys.executable, "-S", "-c", METER, out, err, program(client), *start.arguments],
                cwd=folder,
                env=minimal_environment(home, start.environment),
                capture_output=True,
                timeout=LONGEST,
                check=True,
            )
        code, cpu, kilobytes = json.loads(done.stdout)
        printed = out.read_text("utf-8", "replace")
        if code or not client.answer(Ended(printed, home)):
            said = err.read_text("utf-8", "replace") or printed
            raise SystemExit(f"{client.name} ended with {code}: {said[-500:]}")
    return Used(cpu, kilobytes / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default="", help="names, with commas between")
    parser.add_argument("--steps", type=int, default=0)
    options = parser.parse_args()
    able = [name for name in OTHERS if name != "aider" or not options.steps]
    others = [CLIENTS[name] for name in able if CLIENTS[name].package.is_installed]
    only = options.only.split(",") if options.only else [OURS.name, *(one.name for one in others)]
    chosen = [one for one in (NOTHING, OURS, *others) if one is NOTHING or one.name in only]
    used: dict[str, list[Used]] = {one.name: [] for one in chosen}
    for run in range(options.runs + 1):
        for client in chosen:
            found = run_once(client, options.steps)
            if run:
                used[client.name].append(found)
    bare = statistics.median(one.cpu for one in used[NOTHING.name])
    what = f"{options.steps} steps" if options.steps else "one reply"
    print(f"| {what} | least CPU s | median CPU s | median / python alone | MB |\n|---|---|---|---|---|")
    for client in chosen:
        cpu = [one.cpu for one in used[client.name]]
        memory = statistics.median(one.memory for one in used[client.name])
        name = client.name if client in (OURS, NOTHING) else f"{client.name} {client.package.version}"
        ratio = f"{statistics.median(cpu) / bare:.0f}"
        print(f"| {name} | {min(cpu):.2f} | {statistics.median(cpu):.2f} | {ratio} | {memory:.0f} |")
    if not options.steps:
        print(f"\nbar: {OURS.name} at most {BAR} s, besides the model")


if __name__ == "__main__":
    main()
