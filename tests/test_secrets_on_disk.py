"""Nothing that redaction removed appears anywhere on disk: planted in every place an event has for text."""

import random
import string
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.events import (
    ApprovalGiven,
    AssistantReplied,
    BoundarySeen,
    Compacted,
    ContextSet,
    LogStarted,
    Noted,
    OverflowReported,
    RecapSet,
    Recorded,
    Recording,
    RulesSet,
    SystemSet,
    ToolReturned,
    ToolsSet,
    UserSaid,
)
from holdfast.log import Log
from holdfast.messages import Text, Thinking, ToolCall, ToolDefinition
from holdfast.packing.log_walk import walk_log
from holdfast.packing.pack import pack
from holdfast.packing.profile import CODE
from holdfast.store import SqliteStore
from holdfast.tokenizers import counter_for_model
from holdfast.views import path


def token(rng: random.Random, length: int) -> str:
    letters = string.ascii_letters + string.digits
    return "".join(rng.choice(letters) for _ in range(length - 3)) + "aZ7"


SHAPES = (
    lambda s: (f"sk-ant-api03-{s}", f"sk-ant-api03-{s}"),
    lambda s: (f"ghp_{s[:36]}", f"ghp_{s[:36]}"),
    lambda s: (f"Authorization: Bearer {s}", s),
    lambda s: (f"export DATABASE_PASSWORD={s}", s),
    lambda s: (f'"client_secret": "{s}"', s),
    lambda s: (f"postgres://admin:{s}@db.internal:5432/main", s),
)
WAYS = st.integers(0, len(SHAPES) - 1)


def planted(seed: int, way: int) -> tuple[str, str]:
    """A line with a secret in it, and the secret."""
    rng = random.Random(seed)
    line, secret = SHAPES[way](token(rng, 40))
    return f"before it\n{line}\nafter it", secret


def places(text: str, secret: str) -> list:
    """One event for every field that people, models or tools fill."""
    schema = {"type": "object", "properties": {}, "description": text}
    call = ToolCall("call_1", "Bash", {"command": text, "env": {"API_KEY": secret}, "list": [text]})
    return [
        LogStarted(title=text, origin="import", source="test", meta={"note": text, "password": secret}),
        SystemSet(text),
        ToolsSet((ToolDefinition("T", text, schema),)),
        RulesSet("AGENTS.md", text),
        ContextSet("diff", text),
        RecapSet("findings", text, (text,)),
        UserSaid((Text(text),)),
        AssistantReplied((Thinking(text), Text(text), call, ToolCall("call_2", "X", {}, raw=text))),
        ToolReturned("call_1", "Bash", (Text(text * 40),)),
        ApprovalGiven("call_1", "deny", rule=text, reason=text),
        OverflowReported(message=text),
        Compacted("archive", text, focus=text),
        Noted("remark", text, {"token": secret}),
        BoundarySeen("compact", summary=text, data={"secret": secret}),
    ]


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), WAYS)
def test_a_planted_secret_reaches_no_file(tmp_path_factory, seed, way):
    folder = tmp_path_factory.mktemp("store")
    text, secret = planted(seed, way)
    events = places(text, secret)
    recording = Recording(f"r {text}", "test", tuple(Recorded(e) for e in events), notes=(text,))
    with SqliteStore(folder / "store.db") as store:
        log = Log.import_recording(store, recording)
        log.append(UserSaid((Text(text),)))
        assert store.search("before") is not None
        window, folds = walk_log(CODE.scaled_to(4_000), counter_for_model(""), path(log.entries()))
        for fold in folds:
            log.append(fold)
        shown = repr(pack(window.view()).messages)
        assert secret not in shown
        assert "before it" in shown
        # While it is open, so that the write-ahead log is looked at too.
        assert_nowhere(folder, secret)
    assert_nowhere(folder, secret)


def assert_nowhere(folder: Path, secret: str) -> None:
    files = [f for f in folder.rglob("*") if f.is_file()]
    assert files
    for file in files:
        assert secret.encode() not in file.read_bytes(), file.name
