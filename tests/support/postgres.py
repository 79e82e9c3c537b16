"""A PostgreSQL server of Debian's packages, in a temporary folder, as an unprivileged user.

Its superuser is `postgres`, with the password `PASSWORD`, which a connection over TCP asks for; over the socket of
its folder nobody is asked for one.
"""

import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg

from support.free_port import free_port
from support.waiting import wait_until

PASSWORD = "not so secret"
ABSENT = "there is no PostgreSQL server here: Debian has it as `postgresql`"
_NUMBERS = itertools.count()


def postgres_programs() -> Path | None:
    """The folder of `initdb` and `postgres`; None where there is none."""
    known = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda at: int(at.parts[-3]))
    if known:
        return known[-1].parent
    found = shutil.which("postgres")
    return Path(found).resolve().parent if found else None


class PostgresServer:
    """**Contract:** `close` ends the server and deletes its folder.

    `folder` may be a file system of its own; `log_folder` is then another, where its write-ahead log has room.
    """

    def __init__(self, *settings: str, folder: Path | None = None, log_folder: Path | None = None) -> None:
        programs = postgres_programs()
        assert programs is not None, ABSENT
        self.programs = programs
        self.folder = folder or Path(tempfile.mkdtemp(prefix="holdfast-pg-"))
        self.port = free_port()
        self.settings = settings
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            for own in filter(None, (self.folder, log_folder)):
                os.chown(own, nobody.pw_uid, nobody.pw_gid)
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        options = ["--username=postgres", f"--pwfile={secret}", "--encoding=UTF8", "--locale=C", "--no-sync"]
        ways = ["--auth-local=trust", "--auth-host=scram-sha-256"]
        ways += [f"--waldir={log_folder}/wal"] if log_folder else []
        self._run([str(programs / "initdb"), "-D", str(self.data), *options, *ways])
        self.start()

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        settings = [
            f"port={self.port}",
            f"unix_socket_directories={self.folder}",
            "listen_addresses=127.0.0.1",
        ]
        settings += ["log_min_messages=fatal", *self.settings]
        words = [str(self.programs / "postgres"), "-D", str(self.data)]
        words += [word for setting in settings for word in ("-c", setting)]
        self.log = (self.folder / "log").open("ab")
        self.process = subprocess.Popen(
            words, stdout=self.log, stderr=self.log, start_new_session=True, cwd=self.folder, **_as_nobody()
        )
        wait_until(self._answers)

    def stop(self) -> None:
        """Stop the server as a reboot does: connections are ended."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)
        self.log.close()

    def kill(self) -> None:
        """`kill -9` for the server and every process of it."""
        # Stopped first, so that it starts no further process meanwhile.
        self.process.send_signal(signal.SIGSTOP)
        children = _children(self.process.pid)
        self.process.kill()
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        self.process.wait(60)
        wait_until(lambda: not any(Path(f"/proc/{child}/exe").exists() for child in children))
        self.log.close()

    def own(self, file: Path) -> None:
        """Give a file to the user of the server, for nobody else to read."""
        file.chmod(0o600)
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(file, nobody.pw_uid, nobody.pw_gid)

    def close(self) -> None:
        if self.process.poll() is None:
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def execute(self, statement: str, given: Sequence[Any] = (), database: str = "postgres") -> list[Any]:
        """What a statement of the superuser gives."""
        with psycopg.connect(self.url(database), autocommit=True) as db:
            found = db.execute(statement, given or None)
            return found.fetchall() if found.description else []

    def make_database(self, owner: str = "postgres") -> str:
        name = f"test{next(_NUMBERS)}"
        self.execute(f'CREATE DATABASE {name} OWNER "{owner}"')
        return name

    def make_user(self, password: str = PASSWORD) -> str:
        name = f"user{next(_NUMBERS)}"
        self.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{password}'")
        return name

    def url(self, database: str, user: str = "postgres") -> str:
        """By the socket, without a password."""
        return f"postgresql:///{database}?host={self.folder}&port={self.port}&user={user}"

    def tcp_url(self, database: str, user: str = "postgres", password: str = "not%20so%20secret") -> str:
        return f"postgresql://{user}:{password}@127.0.0.1:{self.port}/{database}"

    def _answers(self) -> bool:
        assert self.process.poll() is None, (self.folder / "log").read_text()
        try:
            return bool(self.execute("SELECT 1"))
        except psycopg.OperationalError:
            return False

    def _run(self, words: list[str]) -> None:
        done = subprocess.run(
            words, capture_output=True, text=True, check=False, cwd=self.folder, **_as_nobody()
        )
        assert done.returncode == 0, done.stderr


def _children(parent: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # The name of the program, in brackets, may hold anything.
            if int(stat.read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(stat.parent.name))
    return found


def _as_nobody() -> dict[str, Any]:
    """A server refuses to run as root."""
    if os.geteuid():
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
