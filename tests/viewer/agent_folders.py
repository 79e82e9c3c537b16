"""A home as the agents leave it, with a session of each in its own format."""

from recordings.document_samples import GEMINI, OPENCODE, OPENCODE_CHILD, write_opencode_database
from recordings.recording_samples import CLAUDE_CODE, CODEX, COPILOT, PI, write_lines


def claude_line(kind, own, parent, content, **more):
    head = {
        "type": kind,
        "uuid": own,
        "parentUuid": parent,
        "sessionId": "s1",
        "timestamp": "2026-01-01T00:00:00Z",
    }
    return {**head, "message": {"role": kind, "content": content, "id": own}, **more}


SUB_AGENT = [
    claude_line("user", "u1", None, "Find the parser", isSidechain=True, agentId="a1"),
    claude_line(
        "assistant", "u2", "u1", [{"type": "text", "text": "src/p.py"}], isSidechain=True, agentId="a1"
    ),
]


def make_home(place):
    """The folders of every agent, by the name of the agent."""
    folders = {
        "claude": place / ".claude" / "projects",
        "codex": place / ".codex" / "sessions",
        "copilot": place / ".copilot" / "session-state",
        "gemini": place / ".gemini" / "tmp",
        "opencode": place / ".local" / "share" / "opencode",
        "pi": place / ".pi" / "agent" / "sessions",
    }
    files = {
        folders["claude"] / "-home-me" / "s1.jsonl": CLAUDE_CODE,
        folders["claude"] / "-home-me" / "s1" / "subagents" / "agent-a1.jsonl": SUB_AGENT,
        folders["codex"] / "2026" / "01" / "01" / "rollout-1.jsonl": CODEX,
        folders["copilot"] / "c1" / "events.jsonl": COPILOT,
        folders["gemini"] / "abc" / "chats" / "session-1.json": [GEMINI],
        folders["pi"] / "--home-me--" / "p1.jsonl": PI,
    }
    for path, values in files.items():
        path.parent.mkdir(parents=True)
        write_lines(path, values)
    folders["opencode"].mkdir(parents=True)
    (folders["opencode"] / "auth.json").write_text('{"anthropic": {"key": "sk-secret"}}')
    (folders["gemini"] / "abc" / "logs.json").write_text(
        '[{"sessionId": "1", "type": "user", "message": "x"}]'
    )
    write_opencode_database(folders["opencode"] / "opencode.db", OPENCODE, OPENCODE_CHILD)
    return folders
