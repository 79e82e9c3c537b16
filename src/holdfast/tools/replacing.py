"""A file replaced by a new one in its folder, which is held by its descriptor.

Rule: the name means the old file or the new one at any moment, also if the machine stops; what is left of a write
that was killed has a name by which it is known.
"""

import contextlib
import os
import re
import secrets
import stat
from collections.abc import Callable

TEMPORARY = re.compile(r"\.holdfast-[0-9a-f]{16}\.tmp")

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


def replace_in(
    parent: int, name: str, data: bytes, old: os.stat_result | None, check: Callable[[], None]
) -> os.stat_result:
    """Temporary file, fsync, rename: a rename replaces a link that was swapped in and does not follow it. `check`
    is called last thing before it."""
    temporary = f".holdfast-{secrets.token_hex(8)}.tmp"
    descriptor = os.open(temporary, _CREATE, 0o600 if old else 0o666, dir_fd=parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if old:
                _keep_owner_and_mode(file.fileno(), old)
            os.fsync(file.fileno())
            check()
            os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
            # A rename is a change of status too.
            status = os.fstat(file.fileno())
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=parent)
        raise
    os.fsync(parent)
    return status


def _keep_owner_and_mode(descriptor: int, old: os.stat_result) -> None:
    # Only root may give files away; for others the new file is theirs, which is what any editor does.
    mode = stat.S_IMODE(old.st_mode)
    try:
        os.fchown(descriptor, old.st_uid, old.st_gid)
    except PermissionError:
        # A program that ran with the rights of its owner or group must not run with those of another.
        mode &= ~(stat.S_ISUID | stat.S_ISGID)
        with contextlib.suppress(PermissionError):
            os.fchown(descriptor, -1, old.st_gid)
    os.fchmod(descriptor, mode)
