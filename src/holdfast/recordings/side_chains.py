"""Sub-agents inside a Claude Code session: which chain a line belongs to, and which call began it.

Rule: a chain begins with one `ChainStarted`, hung under the reply whose call started it where that is known.
"""

from holdfast.events import ChainStarted
from holdfast.messages import Json
from holdfast.recordings.draft import Draft, first_line
from holdfast.recordings.shapes import items, obj, seconds, text


class SideChains:
    def __init__(self, lines: list[dict[str, Json]], draft: Draft) -> None:
        self._draft = draft
        self._calls = _agent_calls(lines)
        self._keys = _roots(lines)
        self._started: set[str] = set()
        spoken = [line for line in lines if line.get("type") in ("user", "assistant")]
        # A sub-agent's own file: its one chain is the main chain of the recording.
        self._alone = bool(spoken) and all(line.get("isSidechain") for line in spoken)
        agent = text(spoken[0].get("agentId")) if self._alone else ""
        self.suffix = f"/{agent}" if agent else ""

    def is_side(self, line: dict[str, Json]) -> bool:
        return bool(line.get("isSidechain") or line.get("parent_tool_use_id"))

    def chain_of(self, line: dict[str, Json]) -> str:
        """The line's chain, begun if this is its first line; empty on the main chain."""
        if not self.is_side(line) or self._alone:
            return ""
        key = self._key(line)
        if key not in self._started:
            self._started.add(key)
            self._start(key, line)
        return key

    def _key(self, line: dict[str, Json]) -> str:
        named = text(line.get("agentId")) or text(line.get("parent_tool_use_id"))
        return named or self._keys.get(text(line.get("uuid")), "") or "side"

    def _start(self, key: str, line: dict[str, Json]) -> None:
        prompt = _prompt(line)
        call_id = text(line.get("callId")) or text(line.get("parent_tool_use_id"))
        call_id = call_id or next((c for c, call in self._calls.items() if call.get("prompt") == prompt), "")
        call = self._calls.get(call_id, {})
        started = ChainStarted(
            agent=text(call.get("subagent_type")),
            call_id=call_id,
            title=first_line(text(call.get("description")) or prompt),
        )
        after = self._draft.caller(call_id)
        at = seconds(line.get("timestamp"))
        self._draft.add(started, chain=key, at=at, after=self._draft.newest() if after is None else after)


def _roots(lines: list[dict[str, Json]]) -> dict[str, str]:
    """The first line of its chain for each side line: older versions name no agent."""
    roots: dict[str, str] = {}
    for line in lines:
        if line.get("isSidechain"):
            own = text(line.get("uuid"))
            roots.setdefault(own, roots.get(text(line.get("parentUuid")), own))
    return roots


def _agent_calls(lines: list[dict[str, Json]]) -> dict[str, dict[str, Json]]:
    """The arguments of calls that carry a prompt, by call id."""
    calls: dict[str, dict[str, Json]] = {}
    for line in lines:
        if line.get("type") == "assistant":
            for block in map(obj, items(obj(line.get("message")).get("content"))):
                if "prompt" in obj(block.get("input")):
                    calls[text(block.get("id"))] = obj(block.get("input"))
    return calls


def _prompt(line: dict[str, Json]) -> str:
    content = obj(line.get("message")).get("content")
    blocks = items(content)
    return text(content) or (text(obj(blocks[0]).get("text")) if blocks else "")
