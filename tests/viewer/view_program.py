"""`holdfast view` as a program."""

import os
import re
import signal
import subprocess
from pathlib import Path

import httpx2

from cli.command_line import command


def serve(*words: object, home: Path | None = None) -> tuple[subprocess.Popen[str], str, str]:
    """The program, the address that it prints, and what it says with it."""
    env = {**os.environ, "HOME": str(home)} if home else None
    program = subprocess.Popen(
        command("view", "--no-open", *words), stderr=subprocess.PIPE, text=True, env=env
    )
    assert program.stderr is not None
    said = next(line for line in program.stderr if "http://" in line)
    return program, re.findall(r"at (http://\S+) ", said)[0], said


def end(program: subprocess.Popen[str], number: signal.Signals = signal.SIGINT) -> None:
    """Send it a signal, which ends it without a word."""
    program.send_signal(number)
    code = program.wait(60)
    assert code == (-number if number == signal.SIGKILL else 0)
    assert program.stderr is not None
    assert program.stderr.read() == ""
    program.stderr.close()


def is_there(address: str) -> bool:
    """Whether a viewer answers at this address."""
    try:
        return httpx2.get(address, timeout=60).status_code == 200
    except httpx2.TransportError:
        return False
