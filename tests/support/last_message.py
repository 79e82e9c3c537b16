"""What a request ends with, for models of tests that decide by it."""

from holdfast.messages import Message, UserMessage, joined_text
from holdfast.models.model import ModelRequest


def last_message(request: ModelRequest) -> Message:
    """The last message before the tail, which is rebuilt for every request."""
    *_, before, last = (None, *request.messages)
    is_tail = isinstance(last, UserMessage) and joined_text(last.parts).startswith("<system-reminder>")
    return before if is_tail and before is not None else last
