"""What the design documents say of files that a user mentions: a reminder follows the message that names them."""

import asyncio

from holdfast.agents.coding.coding_session import open_coding_session
from holdfast.agents.options import AgentOptions
from holdfast.messages import UserMessage, joined_text
from holdfast.models.scripted import ScriptedModel
from support.agent_runs import repository


def test_a_reminder_to_read_follows_the_message_that_mentions_a_file(tmp_path):
    root, model = repository(tmp_path), ScriptedModel("Seen.")

    async def work():
        options = AgentOptions(root=root, store=tmp_path / "store.db", sandbox="off", budget=32_000)
        opened = await open_coding_session(options, model=model, env={"XDG_CONFIG_HOME": "/nonexistent"})
        await opened.coding.say("Look at @main.py, please.")
        await opened.close()

    asyncio.run(work())
    messages = model.requests[0].messages
    text = "\n".join(joined_text(m.parts) for m in messages if isinstance(m, UserMessage))
    question, reminder = text.index("Look at @main.py, please."), text.index("<system-reminder>")
    assert question < reminder
    assert "You must read them with Read before you answer:\n- main.py\n</system-reminder>" in text
