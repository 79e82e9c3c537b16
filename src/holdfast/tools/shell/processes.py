"""The processes that a command started: the environment they get, how they are found, and their end.

Rule: a process is ours if it descends from the shell, is in its session, or carries the command's mark in the
environment it was started with. A process is checked again right before it is signalled, so that a reused process
id is left alone. Of our environment, a variable that changes bash itself is never passed on, and one whose name
looks like a secret only if a person listed it. Nothing may wait for a person: no pager, no editor, no prompt.

Without `/proc` only the shell's process group is known. Out of reach is a process that starts its own session and
clears its environment after the shell has ended; a sandbox with its own process ids has no such gap.
"""

import contextlib
import os
import re
import signal
import time
from collections.abc import Iterable, Mapping

from msgspec import Struct

from holdfast.store_places import STORE_VARIABLE, is_url

RUN_MARK = "_HOLDFAST_RUN"
"""Set to a unique value for each command, by which its processes are found."""

_OBEYED = frozenset(
    """
    BASH_ENV ENV CDPATH SHELLOPTS BASHOPTS BASH_COMPAT BASH_LOADABLES_PATH BASH_XTRACEFD EXECIGNORE FIGNORE FUNCNEST
    GLOBIGNORE HISTFILE IFS INPUTRC MAILCHECK MAILPATH OLDPWD POSIXLY_CORRECT PROMPT_COMMAND PS0 PS1 PS2 PS3 PS4 PWD
    SHLVL TIMEFORMAT TMOUT _
    """.split()
)
_SECRET = re.compile(
    r"(?i)(?:^(?:PG|SSH)|^|_)(?:API_?KEYS?|KEY|TOKEN|SECRETS?|PASSWORD|PASSWD|PASSPHRASE|PASS|PWD|CREDENTIALS?|COOKIE"
    r"|DSN|PAT|AUTH|JWT|BEARER"
    r"|(?:ACCESS|SECRET|PRIVATE|ACCOUNT|SIGNING|ENCRYPTION|MASTER)_?KEY\w*)(?:_(?:ID|FILE|BASE64|B64|JSON|V?\d+))*$"
)
_UNATTENDED = {
    **dict.fromkeys(("PAGER", "GIT_PAGER", "MANPAGER", "SYSTEMD_PAGER"), "cat"),
    "TERM": "dumb",
    # An editor that changes nothing: a merge keeps its proposed message, an empty commit message is refused.
    **dict.fromkeys(("EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR"), "true"),
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",  # `git status` does not write the index
    "SSH_ASKPASS_REQUIRE": "never",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
}
_GIT_SETTING = ("safe.bareRepository", "explicit")
"""A Git setting that overrides all configuration files: a repository hidden among the committed files of another is
not used, since its settings could name programs that Git runs."""
_GIVEN = re.compile(r"GIT_CONFIG_(?:COUNT|PARAMETERS|KEY_\d+|VALUE_\d+)")
"""Git settings in the environment: often one of them is a login header, and Git reads only all of them together."""


def is_secret_name(name: str) -> bool:
    """Whether the name of a variable says that its value is a secret, such as an API key."""
    return bool(_SECRET.search(name) or _GIVEN.fullmatch(name))


def _leads_to_logs(name: str, value: str) -> bool:
    """Whether a variable is the URL of the store, which has the logs of other work, and maybe a password."""
    return name == STORE_VARIABLE and is_url(value)


def clean_environment(given: Mapping[str, str], passes: Iterable[str] = ()) -> dict[str, str]:
    """The part of an environment that commands get. `passes` are variables to pass on although they look like
    secrets."""
    named = set(passes)
    kept = {
        name: value
        for name, value in given.items()
        if name not in _OBEYED
        and not name.startswith("BASH_FUNC_")
        and (name in named or not (is_secret_name(name) or _leads_to_logs(name, value)))
    }
    if not {"LC_ALL", "LC_CTYPE", "LANG"} & kept.keys():
        kept["LC_CTYPE"] = "C.UTF-8"
    # Our setting comes after those in the environment.
    count = kept.get("GIT_CONFIG_COUNT", "")
    number = int(count) if count.isascii() and count.isdigit() else 0
    name, value = _GIT_SETTING
    git = {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return {**kept, **_UNATTENDED, "GIT_CONFIG_COUNT": str(number + 1), **git}


MOST_ROUNDS = 100
"""Rounds of killing what is left."""
EMPTY_ROUNDS = 3
"""Empty rounds in a row before nothing counts as left: a single one misses a process that forks and ends
meanwhile."""
BETWEEN = 0.01


class ShellProcess(Struct, frozen=True):
    pid: int
    parent: int
    group: int
    session: int
    started: int
    name: str


def running_processes() -> dict[int, ShellProcess]:
    """Every living process; empty if the system does not tell."""
    return {pid: process for pid in _numbers() if (process := _process(pid))}


def _numbers() -> list[int]:
    """All process ids, the newest first, since those end the soonest."""
    try:
        return sorted(
            (int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()), reverse=True
        )
    except OSError:
        return []


def _process(pid: int) -> ShellProcess | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - hundreds of times in a row
            text = file.read()
    except OSError:
        return None
    start, end = text.find(b"("), text.rfind(b")")
    fields = text[end + 2 :].split()
    if end < 0 or fields[0] in (b"Z", b"X"):
        return None
    name = text[start + 1 : end].decode("utf-8", "replace")
    return ShellProcess(pid, int(fields[1]), int(fields[2]), int(fields[3]), int(fields[19]), name)


def find_family(mark: str, leader: int = 0, known: Iterable[ShellProcess] = ()) -> list[ShellProcess]:
    """The running processes of a command: by its mark, by its shell while that is ours (`leader`), and those known
    from before, with all their descendants."""
    every = running_processes()
    heads = {one.pid for one in known if one.pid in every and every[one.pid].started == one.started}
    heads |= {pid for pid, process in every.items() if leader in (pid, process.session) and leader}
    heads |= {pid for pid in every if _is_marked(pid, mark)}
    heads.discard(os.getpid())
    children: dict[int, list[int]] = {}
    for pid, process in every.items():
        children.setdefault(process.parent, []).append(pid)
    waiting, family = list(heads), set[int]()
    while waiting:
        pid = waiting.pop()
        if pid in every and pid not in family:
            family.add(pid)
            waiting += children.get(pid, [])
    return [every[pid] for pid in sorted(family)]


def in_session(leader: int) -> list[ShellProcess]:
    """The processes in a shell's session without the shell itself, whose process id must still be its own."""
    every = running_processes().values()
    return [process for process in every if process.session == leader and process.pid != leader]


def _is_marked(pid: int, mark: str) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123 - hundreds of times in a row
            return f"{RUN_MARK}={mark}".encode() in file.read()
    except OSError:
        return False


def send(members: Iterable[ShellProcess], number: int) -> None:
    for process in members:
        now = _process(process.pid)
        if now and now.started == process.started:
            _kill(process.pid, number)


def _kill(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def send_group(leader: int, number: int) -> None:
    """Signal the whole group of a shell that was not waited for yet, at once: a shell that outlived its command
    would continue with the next one."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def kill_family(mark: str, leader: int = 0, known: Iterable[ShellProcess] = ()) -> None:
    if leader:
        send_group(leader, signal.SIGKILL)
    seen = {process.pid: process for process in known}
    empty = 0
    for _ in range(MOST_ROUNDS):
        # Killed right when found: between listing all and killing, a process can have forked again.
        for pid in _numbers():
            if pid != os.getpid() and _is_marked(pid, mark):
                _kill(pid, signal.SIGKILL)
        members = find_family(mark, leader, seen.values())
        seen |= {process.pid: process for process in members}
        send(members, signal.SIGKILL)
        empty = 0 if members else empty + 1
        if empty == EMPTY_ROUNDS:
            return
        time.sleep(BETWEEN)
