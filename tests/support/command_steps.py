"""Steps that each run a command and see its result, with words that occur nowhere else."""

from holdfast.events import Event
from holdfast.session import Session
from support.logs import result, step, user

RULE = "Never touch src/legacy/."
GOOD = """\
## Objectives & Status
- The parser is fixed. Never touch src/legacy/.
## Technical Context
- Python
## Completed Milestones
- `run part_3` was done
## Key Insights & Decisions
- part_5 needs care
## File System State
- nothing was written
"""
"""A summary of it that is true."""


def steps(first: int, last: int, words: int = 50, text: str = "") -> list[Event]:
    events: list[Event] = []
    for i in range(first, last):
        shown = text or " ".join(f"word{i}x{j}" for j in range(words)) + f"\npart_{i} is done"
        events.append(step(f"I look at part {i}.", (f"c{i}", "Bash", {"command": f"run part_{i}"})))
        events.append(result(f"c{i}", shown, "Bash"))
    return events


def started(profile: str = "code", count: int = 40) -> Session:
    session = Session(profile=profile, budget="8k")
    session.record(user(f"Fix the parser. {RULE}"), *steps(0, count))
    return session


def events_of(session: Session, kind: type):
    return [entry.event for entry in session.log.entries() if isinstance(entry.event, kind)]
