"""Recordings: other people's formats in and out.

Rule: vendor shapes stay here. In come events that say what happened, with notes on what was lost; out go
messages one to one.
"""

from holdfast.recordings.message_lists import events_from_message, recording_from_messages
from holdfast.recordings.recording_files import FORMATS, detect_format, find_recording, read_recordings
from holdfast.wire import (
    WireRequest,
    anthropic_message,
    anthropic_tool,
    join_anthropic,
    join_openai,
    openai_message,
    openai_tool,
    to_anthropic,
    to_openai,
)

__all__ = [
    "FORMATS",
    "WireRequest",
    "anthropic_message",
    "anthropic_tool",
    "detect_format",
    "events_from_message",
    "find_recording",
    "join_anthropic",
    "join_openai",
    "openai_message",
    "openai_tool",
    "read_recordings",
    "recording_from_messages",
    "to_anthropic",
    "to_openai",
]
