"""Starts a command so that it dies with Holdfast and, on request, is restricted.

Rule: it imports nothing of ours, since it runs isolated and without packages. If a restriction fails, nothing is
started.

    launch.py [join=PID] [write=PATH]... [read=PATH]... [close=metadata] [close=network] -- PROGRAM ARGUMENT...

With `join` it enters the user and network namespaces of a process. With `write`, files are written below these
paths only; with `read`, the content of files is read only below these and the `write` paths. `close=metadata`
refuses what changes a file's mode, owner, times or attributes, which Landlock does not hold; `close=network`
refuses sockets.
In any case the command inherits orphans (so that a process that leaves its group is still found below it), and is
killed when the thread that started it ends.
"""

import ctypes
import errno
import os
import sys

PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 22, 36, 38
PR_CAPBSET_DROP, CAPABILITY_VERSION = 24, 0x20080522
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
VERSION_FLAG = 1
RULE_PATH_BENEATH = 1

# Rights over files, by bit: 0 run, 1 write, 2 read, 3 list, 4 remove folder, 5 remove file, 6 to 12 make what there
# is, 13 link or move between folders (second version), 14 truncate (third).
WRITES = sum(1 << bit for bit in (1, *range(4, 13)))
READ_FILE = 1 << 2
REFER, TRUNCATE = 1 << 13, 1 << 14
FILE_RIGHTS = (1 << 1) | READ_FILE | TRUNCATE
TCP = 0b11
"""Bind and connect (fourth version)."""
SCOPES = 0b11
"""Abstract sockets of others, and signals to others (sixth version)."""

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000

FILTER_MODE = 2
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM
LOAD, JUMP_IF_EQUAL, JUMP_IF_AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
AF_NETLINK = 16
"""The only family of sockets that stays: with it a program asks the kernel about itself."""
X32 = 0x40000000
ARCHITECTURES = {
    # The kernel's number of an architecture; system calls that change metadata, or make objects that are in no file
    # (`shmget`, `semget`, `msgget`, `mq_open`); `socket`; `ioctl`.
    "x86_64": (
        0xC000003E,
        (90, 91, 92, 93, 94, 132, 188, 189, 190, 197, 198, 199, 235, 260, 261, 268, 280, 29, 64, 68, 240),
        41,
        16,
    ),
    "aarch64": (0xC00000B7, (5, 6, 7, 14, 15, 16, 52, 53, 54, 55, 88, 194, 190, 186, 180), 198, 29),
}
FLAG_CHANGES = (0x40086602, 0x40046602, 0x401C5820)
"""Requests to `ioctl` that change the flags of a file, for which it need not be writable."""
NEWER_METADATA = (452, 463, 466, 469)
"""`fchmodat2`, `setxattrat`, `removexattrat` and `file_setattr`: the same number everywhere."""
IO_URING = 425
"""`io_uring_setup`: a queue whose calls no filter sees."""

FAILED = 126


class RulesetAttr(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class PathBeneathAttr(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


class FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def landlock_version() -> int:
    """The kernel's version of Landlock; 0 if it has none."""
    if sys.platform != "linux":
        return 0
    found = libc().syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(VERSION_FLAG))
    return max(int(found), 0)


def can_filter() -> bool:
    """Whether system calls can be refused on this machine."""
    return sys.platform == "linux" and os.uname().machine in ARCHITECTURES


def join(process: int) -> None:
    """Enter the user and network namespaces of a process."""
    for name, kind in (("user", CLONE_NEWUSER), ("net", CLONE_NEWNET)):
        if os.stat(f"/proc/{process}/ns/{name}").st_ino != os.stat(f"/proc/self/ns/{name}").st_ino:  # noqa: PTH116
            opened = os.open(f"/proc/{process}/ns/{name}", os.O_RDONLY | os.O_CLOEXEC)
            _checked(libc().setns(opened, kind))
            os.close(opened)


def restrict(writable: list[str], readable: list[str], *, without_tcp: bool) -> None:
    """From now on this process, and everything it starts, writes only below the first paths. If there are any of
    the second, it reads the content of files only below both."""
    version = landlock_version()
    if version < 1:
        raise OSError("the kernel has no Landlock")
    writes = WRITES | (REFER if version >= 2 else 0) | (TRUNCATE if version >= 3 else 0)
    reads = READ_FILE if readable else 0
    rules = RulesetAttr(
        writes | reads, TCP if without_tcp and version >= 4 else 0, SCOPES if version >= 6 else 0
    )
    size = 8 if version < 4 else 16 if version < 6 else 24
    ruleset = _checked(
        libc().syscall(CREATE_RULESET, ctypes.byref(rules), ctypes.c_size_t(size), ctypes.c_uint32(0))
    )
    for path in writable:
        _add_rule(ruleset, path, writes | reads)
    for path in readable:
        _add_rule(ruleset, path, reads)
    _checked(libc().syscall(RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0)))
    os.close(ruleset)


def _add_rule(ruleset: int, path: str, rights: int) -> None:
    try:
        opened = os.open(path, getattr(os, "O_PATH", 0) | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):
        return
    rights = rights if os.path.isdir(path) else rights & FILE_RIGHTS  # noqa: PTH112 - pathlib loads slowly
    rule = ctypes.byref(PathBeneathAttr(rights, opened))
    arguments = (ctypes.c_int(ruleset), ctypes.c_int(RULE_PATH_BENEATH), rule, ctypes.c_uint32(0))
    _checked(libc().syscall(ADD_RULE, *arguments))
    os.close(opened)


def refuse_calls(*, metadata: bool, sockets: bool) -> None:
    """From now on system calls that change metadata, or make sockets, are refused."""
    architecture, changes, socket, ioctl = ARCHITECTURES[os.uname().machine]
    refused = (IO_URING, *((*changes, *NEWER_METADATA) if metadata else ()))
    # Offsets in what the kernel shows a filter: 0 the call, 4 the architecture, 16 and 24 its first two arguments.
    steps = [(LOAD, 0, 0, 4), (JUMP_IF_EQUAL, 1, 0, architecture), (RETURN, 0, 0, REFUSE), (LOAD, 0, 0, 0)]
    steps += [(JUMP_IF_AT_LEAST, 0, 1, X32), (RETURN, 0, 0, REFUSE)]
    for number in refused:
        steps += [(JUMP_IF_EQUAL, 0, 1, number), (RETURN, 0, 0, REFUSE)]
    if metadata:
        checks = [
            step for flag in FLAG_CHANGES for step in ((JUMP_IF_EQUAL, 0, 1, flag), (RETURN, 0, 0, REFUSE))
        ]
        steps += [
            (JUMP_IF_EQUAL, 0, len(checks) + 2, ioctl),
            (LOAD, 0, 0, 24),
            *checks,
            (RETURN, 0, 0, ALLOW),
        ]
    if sockets:
        steps += [(JUMP_IF_EQUAL, 0, 3, socket), (LOAD, 0, 0, 16), (JUMP_IF_EQUAL, 1, 0, AF_NETLINK)]
        steps += [(RETURN, 0, 0, REFUSE)]
    steps += [(RETURN, 0, 0, ALLOW)]
    packed = b"".join(
        code.to_bytes(2, sys.byteorder) + bytes((true, false)) + value.to_bytes(4, sys.byteorder)
        for code, true, false, value in steps
    )
    program = FilterProgram(len(steps), ctypes.cast(ctypes.create_string_buffer(packed), ctypes.c_void_p))
    _checked(libc().prctl(PR_SET_SECCOMP, FILTER_MODE, ctypes.byref(program), 0, 0))


def drop_capabilities() -> None:
    """From now on root has no more rights than its files give it: no clock, no name of the machine, no devices."""
    system = libc()
    capability = 0
    while system.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0:
        capability += 1
    head = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    _checked(system.capset(head, (ctypes.c_uint32 * 6)()))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _without_missing_files(command: list[str]) -> list[str]:
    """A command of bubblewrap without the files to cover that are gone by now: it would fail on them."""
    out: list[str] = []
    for word in command:
        if out[-2:] == ["--ro-bind", "/dev/null"] and not os.path.lexists(word):
            del out[-2:]
        else:
            out.append(word)
    return out


def _environment() -> dict[bytes, bytes]:
    """The environment as it was given: Python changes its own if the locale is C."""
    try:
        with open("/proc/self/environ", "rb") as file:  # noqa: PTH123 - pathlib loads slowly
            pairs = [pair.partition(b"=") for pair in file.read().split(b"\0") if b"=" in pair]
    except OSError:
        return dict(os.environb)
    return {name: value for name, _, value in pairs}


def main(arguments: list[str]) -> None:
    # Not `signal`, which takes as long to load as the rest of Python: this runs before every command.
    import _signal as signal  # type: ignore[import-not-found]  # noqa: PLC0415

    options, command = arguments[: arguments.index("--")], arguments[arguments.index("--") + 1 :]
    given: dict[str, list[str]] = {"join": [], "write": [], "read": [], "close": []}
    for option in options:
        key, _, value = option.partition("=")
        given[key].append(value)
    parent = os.getppid()
    try:
        environment = _environment()
        # First: entering a user namespace clears the signal that kills us with our parent.
        for process in given["join"]:
            join(int(process))
            command = _without_missing_files(command)
        system = libc()
        system.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        system.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            sys.exit(FAILED)
        if given["write"] or given["close"]:
            drop_capabilities()
            _checked(system.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        if given["write"]:
            restrict(given["write"], given["read"], without_tcp="network" in given["close"])
        if given["close"] and can_filter():
            refuse_calls(metadata="metadata" in given["close"], sockets="network" in given["close"])
        # Python ignores both, and ignored signals stay ignored in the program that follows.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        os.execve(command[0], command, environment)  # noqa: S606 - that is its purpose
    except OSError as error:
        sys.stderr.write(f"holdfast: the shell could not be started: {error}\n")
        sys.exit(FAILED)


if __name__ == "__main__":
    main(sys.argv[1:])
