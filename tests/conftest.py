"""Hypothesis tries other examples at every run, except where CI asks for the same ones each time.

No example has a deadline: machines are shared, and how fast something is stands in benchmarks. Compiled modules are
kept even where the environment says not to: hundreds of tests start a Python process. A suite that a shell runs in
the background ignores Ctrl-C, and so would every program that it starts.
"""

import os
import signal
import sys

import pytest
from hypothesis import settings

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# What the person who runs the tests has configured for themselves decides no test.
os.environ["XDG_CONFIG_HOME"] = "/nonexistent"

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("shared", deadline=None, max_examples=60)
settings.register_profile("ci", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "shared")


@pytest.fixture(scope="session")
def postgres():
    """A server for the tests of one process; each makes a database of its own."""
    # Imported late: the environments of frameworks run tests too, and have no client of it.
    from support.postgres import ABSENT, PostgresServer, postgres_programs  # noqa: PLC0415

    if postgres_programs() is None:
        pytest.skip(ABSENT)
    server = PostgresServer("fsync=off")
    yield server
    server.close()
