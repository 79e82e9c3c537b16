"""A data analyst over a SQLite file.

HOLDFAST_MODEL=anthropic/claude-opus-5 python examples/data_analyst.py sales.db "Which product sold best?"
"""

import sqlite3
import sys
from contextlib import closing

from holdfast import Agent, CallStarted, Notice, RunLimits, run_sync, tool

DATABASE = sys.argv[1]


@tool(is_read_only=True)
def query(sql: str, limit: int = 200) -> str:
    """Run one SQL statement on the database, which cannot be changed.

    sql: a SELECT, or a PRAGMA such as `PRAGMA table_info(orders)`
    limit: how many rows to return at most
    """
    with closing(sqlite3.connect(f"file:{DATABASE}?mode=ro", uri=True)) as database:
        found = database.execute(sql)
        names = [column[0] for column in found.description or ()]
        rows = found.fetchmany(limit)
    return "\n".join("\t".join(map(str, row)) for row in [names, *rows])


def show(notice: Notice) -> None:
    if isinstance(notice, CallStarted):
        print(f"> {notice.call.arguments.get('sql', notice.call.name)}", file=sys.stderr)


SYSTEM = "You are a data analyst. Look at the tables in sqlite_master first; answer with figures."
LIMITS = RunLimits(steps=40, tokens=2_000_000)
analyst = Agent(tools=[query], system=SYSTEM, store="analyst.db", limits=LIMITS, watch=show)
print(run_sync(analyst, sys.argv[2]))
