"""A connection to a Ray cluster, or a cluster on this machine for one command.

Rule: whether a cluster can be used is known before any work, within a bounded time. Ray itself waits for minutes,
writes to the terminal and may end the process: so a process of its own tries first. Nothing imports Ray until then.
"""

import json
import os
import platform
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

from holdfast.errors import HoldfastError, InputError
from holdfast.version import __version__

HERE = "auto"
"""Ray's name for the cluster that runs on this machine."""
REACH_SECONDS = 5.0
"""Seconds for the address to take a connection."""
ANSWER_SECONDS = 60.0
"""Seconds for the cluster to say what it is; its nodes start a worker each for that."""
LONGEST_FOLDER = 40
"""Characters of a folder in which Ray can still make its sockets, whose names may have 107."""
SAME_VERSIONS = "install the same versions of Python, Ray and Holdfast, with the same extras, on every node"
ENVIRONMENT = {
    # It is asked for by nobody, and would say so on the terminal.
    "RAY_USAGE_STATS_ENABLED": "0",
    # Under `uv run` Ray would send the whole folder to the cluster.
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    # Without a bound, a recording that no worker has the memory for is tried for ever.
    "RAY_task_oom_retries": "2",
}
ON_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""How Ray is told not to listen on the network: what it does by default on systems that are named here."""


@contextmanager
def connected(address: str, most: int, alone: int) -> Iterator[int]:
    """How many jobs at a time the cluster at this address should do: all its processors, or at `most` so many,
    if that is not 0. Without an address, a cluster of `alone` processes starts here. Data is printed after this."""
    if find_spec("ray") is None:
        raise HoldfastError(
            "`--engine ray` needs Ray, which is not installed",
            hint="run `pip install '.[ray]'` in a checkout of Holdfast",
        )
    address = address or os.environ.get("RAY_ADDRESS", "")
    for name, value in (ENVIRONMENT if address else ENVIRONMENT | ON_LOOPBACK).items():
        os.environ.setdefault(name, value)
    if address:
        found = _described(address)
        with _initialized(address, address=found["address"]):
            yield min(most or found["processors"], found["processors"])
        return
    place = gettempdir() if len(gettempdir()) <= LONGEST_FOLDER else "/tmp"  # noqa: S108 - a folder in it
    with TemporaryDirectory(prefix="holdfast-ray-", dir=place, ignore_cleanup_errors=True) as folder:
        count = most or alone
        here = {"address": "local", "num_cpus": count, "include_dashboard": False, "_temp_dir": folder}
        with _initialized("this machine", **here):
            yield count


@contextmanager
def _initialized(where: str, **how: Any) -> Iterator[None]:
    import ray  # noqa: PLC0415 - an extra, which takes a second to load and reads the environment then

    # What Ray has to say of a worker that died, it prints where our data goes.
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        try:
            ray.init(**how, log_to_driver=False, logging_level="error")
        except (OSError, RuntimeError, ValueError) as error:
            reason = str(error).strip().split("\n", 1)[0]
            raise HoldfastError(
                f"Ray cannot be used at {where}: {reason}", hint="`ray status` says how the cluster is"
            ) from None
        try:
            yield
        finally:
            ray.shutdown()


def _described(address: str) -> dict[str, Any]:
    """What the cluster says of itself. Raises InputError if none is there, or if it cannot be used."""
    if address != HERE:
        _check_reachable(address)
    command = [sys.executable, "-m", "holdfast.lab.ray_probe", address]
    try:
        tried = subprocess.run(  # noqa: S603 - our own program
            command, capture_output=True, text=True, timeout=ANSWER_SECONDS, check=False
        )
        said, aside = tried.stdout, tried.stderr
    except subprocess.TimeoutExpired as late:
        said, aside = "", (late.stderr or b"").decode("utf-8", "replace")
    try:
        found: dict[str, Any] = json.loads(said)
    except ValueError:
        found = {"error": ""}
    if "error" in found:
        raise _refusal(address, found["error"], aside)
    _check_versions(address, found["nodes"])
    return found


def _check_reachable(address: str) -> None:
    host, _, port = address.rpartition(":")
    if not (host and port.isdecimal() and "/" not in host):
        raise InputError(
            f"`{address}` is not the address of a Ray cluster",
            hint=f"write `ray:HOST:PORT` as `ray start` printed it, on a node of the cluster, or `ray:{HERE}`",
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), REACH_SECONDS).close()
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"the Ray cluster at `{address}` cannot be reached: {reason}",
            hint="check the address, and that the cluster runs: `ray status --address HOST:PORT`",
        ) from None


def _refusal(address: str, error: str, aside: str) -> InputError:
    versions = re.findall(r"Ray: (\S+)\s+Python: (\S+)", error)
    if error.startswith("Version mismatch") and len(versions) == 2:
        (ray, python), (own_ray, own_python) = versions
        return InputError(
            f"the Ray cluster at `{address}` has Ray {ray} and Python {python}, "
            f"and here are Ray {own_ray} and Python {own_python}",
            hint=SAME_VERSIONS,
        )
    if "AuthToken" in error + aside or "Unauthenticated" in error + aside:
        return InputError(
            f"the Ray cluster at `{address}` does not accept the token of this user",
            hint="copy `~/.ray/auth_token` from the head node, or set RAY_AUTH_TOKEN",
        )
    reason = f": {error.splitlines()[0]}" if error else f" within {ANSWER_SECONDS:.0f} seconds"
    return InputError(
        f"no Ray cluster answers at `{address}`{reason}", hint="check the address with `ray status`"
    )


def _check_versions(address: str, nodes: list[list[str]]) -> None:
    if not nodes:
        raise InputError(
            f"the Ray cluster at `{address}` has no node with a processor", hint="add one with `ray start`"
        )
    own_python = platform.python_version()
    for node, python, version in nodes:
        has = f"Holdfast {version}" if version else "no Holdfast"
        if (python, version) != (own_python, __version__):
            raise InputError(
                f"node {node} of the Ray cluster at `{address}` has {has} and Python {python}, "
                f"and here are Holdfast {__version__} and Python {own_python}",
                hint=SAME_VERSIONS,
            )
