"""Holdfast for Strands Agents: a conversation manager that packs every request of an agent.

Rule: `agent.messages`, and so what a session manager stores, stays whole. The packed list takes its place in the
middleware around the model, for one request.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary

from holdfast.adapters.converse_lists import ConverseTranslation, join_converse
from holdfast.adapters.requirement import required
from holdfast.errors import HoldfastError, InputError
from holdfast.followed_conversations import FollowedConversation, FollowedConversations
from holdfast.messages import ToolDefinition
from holdfast.models.errors import overflow_of
from holdfast.packing.profile import Profile
from holdfast.recall import RECALL_TOOL
from holdfast.store import Store
from holdfast.wire.content_blocks import WireDict

with required("strands-agents", "1.62"):
    from strands import Agent
    from strands.agent.conversation_manager import ConversationManager
    from strands.hooks import AgentInitializedEvent, HookRegistry
    from strands.middleware import InvokeModelContext, InvokeModelStage, MiddlewareNext
    from strands.tools import PythonAgentTool
    from strands.types.exceptions import ContextWindowOverflowException
    from strands.types.tools import ToolResult, ToolUse


class HoldfastConversationManager(ConversationManager):
    """Packs what an agent sends into `budget` tokens, and gives the agent the tool Recall.

    One manager may serve several agents. A conversation is that of an agent in a session, where there is a session
    manager; else each agent has one of its own. With a path as `store` it lasts as long as the session does.
    """

    def __init__(
        self,
        budget: int | str | None = None,
        *,
        profile: str | Profile = "code",
        model: str = "",
        store: Store | Path | str | None = None,
    ) -> None:
        super().__init__()
        self.conversations: FollowedConversations[WireDict] = FollowedConversations(
            ConverseTranslation(), budget=budget, profile=profile, model=model, store=store
        )
        spec = {
            "name": RECALL_TOOL.name,
            "description": RECALL_TOOL.description,
            "inputSchema": {"json": RECALL_TOOL.schema},
        }
        self.recall_tool = PythonAgentTool(RECALL_TOOL.name, spec, self._recall)
        self._names: WeakKeyDictionary[Agent, str] = WeakKeyDictionary()
        self._refused: set[str] = set()
        """Conversations whose last request was too long: the next is the second try."""

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        super().register_hooks(registry, **kwargs)
        registry.add_callback(AgentInitializedEvent, self._join_agent)

    def conversation(self, agent: Agent) -> FollowedConversation[WireDict]:
        """The conversation of an agent, with its log."""
        return self.conversations.get(self._name(agent))

    def apply_management(self, agent: Agent, **kwargs: Any) -> None:  # noqa: ARG002 - of the interface
        """Record what the invocation brought. Nothing is taken from `agent.messages`."""
        conversation = self.conversation(agent)
        self._refused.discard(self._name(agent))
        # The agent calls this at the end of a run that may have failed, whose error must not be hidden.
        with suppress(HoldfastError):
            said = conversation.session.window.transcript
            conversation.follow(agent.messages, system=said.system, tools=said.tools)

    def reduce_context(self, agent: Agent, e: Exception | None = None, **kwargs: Any) -> None:  # noqa: ARG002
        """Make the next request smaller, once; the second overflow in a row is raised.

        Without an error there is nothing to do: every request is packed into the budget.
        """
        if e is None:
            return
        name = self._name(agent)
        if name in self._refused:
            self._refused.discard(name)
            raise e
        self._refused.add(name)
        # The provider's own error, where there is one, may say the limit.
        self.conversation(agent).report_error(e.__cause__ or e, is_overflow=True)

    def restore_from_session(self, state: dict[str, Any]) -> None:
        """Nothing was ever removed; of a session that had another manager all messages come back."""

    def _join_agent(self, event: AgentInitializedEvent) -> None:
        registry = event.agent.tool_registry
        if registry.registry.get(RECALL_TOOL.name, self.recall_tool) is not self.recall_tool:
            raise InputError(
                f"the tool name `{RECALL_TOOL.name}` is taken: the conversation manager brings a tool of that name",
                hint="rename your tool",
            )
        registry.register_tool(self.recall_tool)
        event.agent.add_middleware(InvokeModelStage, self._invoke_model)

    async def _invoke_model(
        self, context: InvokeModelContext, next_fn: MiddlewareNext[InvokeModelContext, Any]
    ) -> AsyncGenerator[Any, None]:
        packed = await asyncio.to_thread(self._packed, context)
        try:
            async for event in next_fn(packed):
                yield event
        except ContextWindowOverflowException:
            raise
        except Exception as error:
            # An overflow that Strands does not know as one. It calls `reduce_context` for its own exception only.
            if overflow_of(error) is not None:
                raise ContextWindowOverflowException(str(error)) from error
            raise
        self._refused.discard(self._name(context.agent))

    def _packed(self, context: InvokeModelContext) -> InvokeModelContext:
        """The request with the packed list. What other middleware adds for this request only stays at its end."""
        messages, added = [*context.messages], []
        if context.dynamic_trailing_blocks and messages:
            last = messages[-1]
            content = last["content"][: -context.dynamic_trailing_blocks]
            added = [{**last, "content": last["content"][-context.dynamic_trailing_blocks :]}]
            messages[-1] = {**last, "content": content}
        system = _system_text(context.system_prompt)
        packed = self.conversation(context.agent).pack(
            messages, system=system, tools=[_tool_definition(spec) for spec in context.tool_specs]
        )
        prompt = context.system_prompt if packed.system == system else packed.system
        return context.replace(messages=join_converse([*packed.messages, *added]), system_prompt=prompt)

    def _recall(self, tool_use: ToolUse, *, agent: Agent, **_: Any) -> ToolResult:
        text = self.conversation(agent).recall(tool_use["input"])
        return {"toolUseId": tool_use["toolUseId"], "status": "success", "content": [{"text": text}]}

    def _name(self, agent: Agent) -> str:
        if getattr(agent, "_session_manager", None) is not None:
            return f"{agent.session_id}/{agent.agent_id}"
        return self._names.setdefault(agent, str(uuid4()))


def _system_text(prompt: str | list[WireDict] | None) -> str:
    if isinstance(prompt, list):
        return "\n".join(block["text"] for block in prompt if "text" in block)
    return prompt or ""


def _tool_definition(spec: WireDict) -> ToolDefinition:
    schema = spec["inputSchema"]
    return ToolDefinition(spec["name"], spec["description"], schema.get("json", schema))
