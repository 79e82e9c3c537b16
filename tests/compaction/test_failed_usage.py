"""What a failed try used is billed like any other."""

import asyncio

from holdfast.compaction.compact import compact
from holdfast.events import UsageReported
from holdfast.messages import Usage
from holdfast.models.errors import BadReply, NetworkFailed
from holdfast.models.scripted import ScriptedModel
from holdfast.session import Session
from support.logs import result, step, user


def test_tries_that_came_to_nothing_are_billed():
    spent = BadReply("it did not keep to the text protocol")
    spent.usage = Usage(900, 30)
    session = Session(budget="8k")
    session.record(user("Fix the parser."))
    for i in range(40):
        session.record(step(f"part {i}", (f"c{i}", "Bash", {"command": f"run part_{i}"})))
        session.record(result(f"c{i}", " ".join(f"word{i}x{j}" for j in range(50)), "Bash"))
    done = asyncio.run(compact(session, ScriptedModel(spent, NetworkFailed("gone"))))
    assert done is not None
    assert done.written.by == "rule"
    reported = [entry.event for entry in session.log.entries() if isinstance(entry.event, UsageReported)]
    assert reported == [UsageReported(Usage(900, 30), "scripted/model", "summary")]
