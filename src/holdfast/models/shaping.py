"""Role shaping: where system messages stand for a provider or model that has its own ideas of them.

Rule: no text is lost and the order stays, so a summary follows the static text it stood behind.
"""

from collections.abc import Sequence
from typing import Literal

from holdfast.messages import AssistantMessage, Message, SystemMessage, Text, UserMessage

Style = Literal["blocks", "merged", "mock_pair"]
"""`blocks`: each stays a message of its own. `merged`: all are one, the first. `mock_pair`: the model knows no
system role, so a user message says it all and a short reply stands behind it."""

ACKNOWLEDGED = "Understood."


def shaped(messages: Sequence[Message], style: Style) -> tuple[Message, ...]:
    """The messages with system messages in that style; blank ones are dropped where they would be joined."""
    if style == "blocks":
        return tuple(messages)
    texts = [m.text for m in messages if isinstance(m, SystemMessage) and m.text.strip()]
    rest = [m for m in messages if not isinstance(m, SystemMessage)]
    if not texts:
        return tuple(rest)
    if style == "merged":
        return (SystemMessage("\n\n".join(texts)), *rest)
    pair = UserMessage(tuple(map(Text, texts))), AssistantMessage((Text(ACKNOWLEDGED),))
    return (*pair, *rest)
