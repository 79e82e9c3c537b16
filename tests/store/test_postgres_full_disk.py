"""A server whose disk fills up, in a file system of its own: one sentence, and with room the work goes on."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.postgres import ABSENT, postgres_programs

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(postgres_programs() is None, reason=ABSENT),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a server a file system of its own"),
]

UNTIL_FULL = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from holdfast.errors import StoreError
from holdfast.session import Session
from holdfast.store import open_store, verify
from holdfast.store_places import parse_place
from support.postgres import PostgresServer

disk = Path(sys.argv[1])
server = PostgresServer("fsync=off", folder=disk, log_folder=Path(sys.argv[3]))
try:
    url = server.tcp_url(server.make_database())
    open_store(parse_place(url)).close()
    free = os.statvfs(disk)
    filler = disk / "filler"
    filler.write_bytes(b"x" * (free.f_bavail * free.f_bsize - 3_000_000))
    told, number = [], 0
    try:
        with Session(store=url, log="work", budget=8_000) as session:
            while True:
                number += 1
                session.append({"role": "user", "content": f"Say {number}."})
                # Of many kinds, so that the server cannot make much less of them.
                said = " ".join(os.urandom(6).hex() for _ in range(700))
                session.append({"role": "assistant", "content": f"{number} {said}"})
                told.append(session.log.entries()[-1].id)
    except StoreError as error:
        print(error.message, "|", error.hint)
    with open_store(parse_place(url)) as store:
        assert verify(store) == []
    filler.unlink()
    with Session(store=url, log="work", budget=8_000) as session:
        assert [entry for entry in told if entry not in {one.id for one in session.log.entries()}] == []
        session.append({"role": "user", "content": "there is room again"})
        session.pack()
    print(len(told) > 10, "went on")
finally:
    server.close()
"""


def test_a_disk_that_fills_up_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    unshare = shutil.which("unshare")
    disk, logs = tmp_path / "disk", tmp_path / "logs"
    tests = Path(__file__).parents[1]
    script = 'mount -t tmpfs -o size=96m none "$1" && shift && exec "$@"'
    words = [unshare or "unshare", "-m", "sh", "-c", script, "sh", str(disk)]
    for folder in (disk, logs):
        folder.mkdir()
    for above in (tmp_path, *tmp_path.parents):
        # The server, which is another user, must reach its files.
        if above.stat().st_uid == 0 and above.is_relative_to("/tmp"):
            above.chmod(above.stat().st_mode | 0o111)
    if not unshare or subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
        pytest.skip("file systems cannot be mounted here, not even in a namespace")
    command = [*words, sys.executable, "-c", UNTIL_FULL, str(disk), str(tests), str(logs)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    first, last = done.stdout.splitlines()
    assert "the disk of its server is full" in first
    assert "make room there" in first
    assert last == "True went on"
