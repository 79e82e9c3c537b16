"""The hooks of one session: they run in their order, what they did is recorded, and they stand around its calls.

Rule: a hook that blocks ends the row. One before a tool that fails denies the call, since it may be there to
protect something; any other that fails is reported and changes nothing. No result waits for a hook.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from holdfast.agents.hook_process import run_hook
from holdfast.agents.hooks import Hook, HookAnswer, HookEvent, frame, hooks_for
from holdfast.agents.notices import HookReported, Notice
from holdfast.agents.session_gate import SessionGate
from holdfast.events import Noted
from holdfast.messages import Json, ToolCall
from holdfast.session import Session
from holdfast.tools.envelope import ToolError, ToolResult, error_result
from holdfast.tools.permissions.decision import meant_tool
from holdfast.tools.tool import Tool

HOOK_NOTE = "hook"
"""The kind of the notes about hooks."""
LONGEST_RESULT = 200_000
"""Characters of a result that a hook is told."""


class HookOutcome(Struct, frozen=True):
    """What the hooks of one moment came to: the one that blocked, those that ask, and what they told the model."""

    blocked_by: Hook | None = None
    reason: str = ""
    failure: str = ""
    asks: str = ""
    told: tuple[str, ...] = ()


class SessionHooks:
    """`parent` is the log of the agent that started this one, if another did."""

    def __init__(
        self,
        hooks: Sequence[Hook],
        session: Session,
        root: Path,
        notify: Callable[[Notice], None],
        parent: str = "",
    ) -> None:
        self._hooks = hooks
        self._session = session
        self._notify = notify
        self._common: dict[str, Json] = {"session": session.log.id, "parent": parent, "cwd": str(root)}

    def has(self, event: HookEvent) -> bool:
        return any(hook.event == event for hook in self._hooks)

    async def run(
        self, event: HookEvent, about: str, told: Mapping[str, Json], names: Iterable[str] = ("",)
    ) -> HookOutcome:
        """Run the hooks that match, one after the other. `about` says in a few words what they are told of."""
        asks, texts = "", list[str]()
        for hook in hooks_for(self._hooks, event, names):
            answer = await self._answer(hook, {"event": event, **self._common, **told})
            fails_closed = bool(answer.failure) and event == "before_tool"
            if answer.decision or answer.context or answer.failure:
                self._report(hook, about, answer, told)
            if answer.context:
                texts.append(frame(hook, f"says about {about}", answer.context))
            if answer.decision == "block" and event == "after_tool":
                # It is too late to block, but the model should know.
                texts.append(frame(hook, f"objects to {about}", answer.reason))
            elif answer.decision == "block" or fails_closed:
                return HookOutcome(hook, answer.reason, answer.failure, told=tuple(texts))
            if answer.decision == "ask" and not asks:
                asks = f"the hook `{hook.shown}` asks" + (f": {answer.reason}" if answer.reason else "")
        return HookOutcome(asks=asks, told=tuple(texts))

    async def _answer(self, hook: Hook, told: Mapping[str, Json]) -> HookAnswer:
        if changed := hook.changed_file():
            why = f"`{changed}` was changed since the session began; the next session asks for trust in it"
            return HookAnswer(failure=why)
        return await run_hook(hook, told)

    def _report(self, hook: Hook, about: str, answer: HookAnswer, told: Mapping[str, Json]) -> None:
        """Record what a hook did, and tell the person."""
        verb = _verb(hook.event, answer)
        why = " ".join((answer.failure or answer.reason).split())
        sentence = f"the hook `{hook.shown}` {verb} {about}" + (f": {why}" if why else "")
        data: dict[str, Json] = {"event": hook.event, "command": hook.command, "decision": answer.decision}
        data |= {"reason": answer.reason, "context": answer.context, "failure": answer.failure}
        self._session.record(Noted(HOOK_NOTE, sentence, {**data, "call": told.get("call", "")}))
        self._notify(HookReported(sentence, is_failure=bool(answer.failure)))


def _verb(event: HookEvent, answer: HookAnswer) -> str:
    if answer.failure:
        return "failed, which denies" if event == "before_tool" else "failed at"
    if answer.decision == "block":
        return {
            "before_tool": "denied",
            "after_tool": "objects to",
            "prompt": "blocked",
            "stop": "asks the agent to continue after",
        }[event]
    return "asks about" if answer.decision == "ask" and event == "before_tool" else "told the model about"


class CallHooks:
    """The hooks around the calls of an agent, before and after the gate of its permissions. `remind` is set when
    the agent is there."""

    def __init__(self, hooks: SessionHooks, gate: SessionGate | None) -> None:
        self._hooks = hooks
        self._gate = gate
        self.remind: Callable[[str], None] = lambda _: None

    async def before(self, call: ToolCall, tool: Tool) -> ToolResult | None:
        """The gate of the agent's toolbox: a refusal, if a hook or the permissions refuse."""
        outcome = await self._hooks.run("before_tool", call.name, self._told(call), _names(call))
        refusal = None
        if outcome.blocked_by:
            refusal = _denied_by(outcome, outcome.blocked_by, call)
        elif self._gate:
            refusal = await self._gate.check(call, tool, asked_by_hook=outcome.asks)
        elif outcome.asks:
            refusal = _unanswered(outcome, call)
        for text in outcome.told:
            self.remind(text)
        return refusal

    async def after(self, call: ToolCall, result: ToolResult) -> None:
        """What follows a call whose result is recorded."""
        told = {"text": result.envelope.text[:LONGEST_RESULT], "is_error": result.is_error}
        outcome = await self._hooks.run(
            "after_tool", call.name, self._told(call) | {"result": told}, _names(call)
        )
        for text in outcome.told:
            self.remind(text)

    def _told(self, call: ToolCall) -> dict[str, Json]:
        mode = self._gate.permission_gate.mode if self._gate else ""
        return {"mode": mode, "tool": meant_tool(call), "input": call.arguments, "call": call.id}


def _names(call: ToolCall) -> set[str]:
    return {call.name, meant_tool(call)}


def _denied_by(outcome: HookOutcome, hook: Hook, call: ToolCall) -> ToolResult:
    if outcome.failure:
        error = ToolError(
            "ACCESS_DENIED",
            f"{call.name} was not run: the hook `{hook.shown}`, which decides about it, failed: {outcome.failure}",
            hint="Tell the user; do without this call until the hook works",
        )
    else:
        why = f": {outcome.reason}" if outcome.reason else ""
        error = ToolError(
            "ACCESS_DENIED",
            f"{call.name} was not run: the hook `{hook.shown}` denied it{why}",
            hint="Do not try to get around it; do without, or ask the user",
        )
    return error_result(error, {"tool": call.name})


def _unanswered(outcome: HookOutcome, call: ToolCall) -> ToolResult:
    error = ToolError(
        "ACCESS_DENIED", f"{call.name} was not run: nobody is there to approve it; {outcome.asks}"
    )
    return error_result(error, {"tool": call.name})
