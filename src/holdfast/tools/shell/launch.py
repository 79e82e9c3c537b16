"""The program between us and bash: it ties the shell to our life, and on request to its folders.

Rule: it imports nothing of ours, since it runs isolated and without packages. If a restriction fails, nothing is
started.

    launch.py FLAGS COUNT PATH... PROGRAM ARGUMENT...

The `COUNT` paths may be written to if FLAGS has `w`; with `n` TCP is refused. In any case the shell inherits
orphans (so that a process that leaves its group is still found below it), and is killed when the thread that
started it ends.
"""

import contextlib
import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 36, 38
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
VERSION_FLAG = 1
RULE_PATH_BENEATH = 1

# Rights over files, by bit: 0 run, 1 write, 2 read, 3 list, 4 remove folder, 5 remove file, 6 to 12 make what there
# is, 13 link or move between folders (second version), 14 truncate (third).
WRITES = sum(1 << bit for bit in (1, *range(4, 13)))
REFER, TRUNCATE = 1 << 13, 1 << 14
FILE_WRITES = (1 << 1) | TRUNCATE
TCP = 0b11
"""Bind and connect (fourth version)."""
SCOPES = 0b11
"""Abstract sockets of others, and signals to others (sixth version)."""

FAILED = 126


class RulesetAttr(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class PathBeneathAttr(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def landlock_version() -> int:
    """The kernel's version of Landlock; 0 if it has none."""
    if sys.platform != "linux":
        return 0
    found = libc().syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(VERSION_FLAG))
    return max(int(found), 0)


def restrict(paths: list[str], *, without_tcp: bool) -> None:
    """From now on this process, and everything it starts, can write only below these paths."""
    version = landlock_version()
    if version < 1:
        raise OSError("the kernel has no Landlock")
    system = libc()
    writes = WRITES | (REFER if version >= 2 else 0) | (TRUNCATE if version >= 3 else 0)
    rules = RulesetAttr(writes, TCP if without_tcp and version >= 4 else 0, SCOPES if version >= 6 else 0)
    size = 8 if version < 4 else 16 if version < 6 else 24
    ruleset = _checked(
        system.syscall(CREATE_RULESET, ctypes.byref(rules), ctypes.c_size_t(size), ctypes.c_uint32(0))
    )
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            opened = os.open(path, getattr(os, "O_PATH", 0) | os.O_CLOEXEC)
            rights = writes if os.path.isdir(path) else writes & FILE_WRITES  # noqa: PTH112 - pathlib loads slowly
            rule = ctypes.byref(PathBeneathAttr(rights, opened))
            arguments = (ctypes.c_int(ruleset), ctypes.c_int(RULE_PATH_BENEATH), rule, ctypes.c_uint32(0))
            _checked(system.syscall(ADD_RULE, *arguments))
            os.close(opened)
    _checked(system.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _checked(system.syscall(RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0)))
    os.close(ruleset)


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _environment() -> dict[bytes, bytes]:
    """The environment as it was given: Python changes its own if the locale is C."""
    try:
        with open("/proc/self/environ", "rb") as file:  # noqa: PTH123 - pathlib loads slowly
            pairs = [pair.partition(b"=") for pair in file.read().split(b"\0") if b"=" in pair]
    except OSError:
        return dict(os.environb)
    return {name: value for name, _, value in pairs}


def main(arguments: list[str]) -> None:
    flags, count, rest = arguments[0], int(arguments[1]), arguments[2:]
    command = rest[count:]
    parent = os.getppid()
    try:
        system = libc()
        system.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        system.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            sys.exit(FAILED)
        if "w" in flags:
            restrict(rest[:count], without_tcp="n" in flags)
        # Python ignores both, and ignored signals stay ignored in the program that follows.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        os.execve(command[0], command, _environment())  # noqa: S606 - that is its purpose
    except OSError as error:
        sys.stderr.write(f"holdfast: the shell could not be started: {error}\n")
        sys.exit(FAILED)


if __name__ == "__main__":
    main(sys.argv[1:])
