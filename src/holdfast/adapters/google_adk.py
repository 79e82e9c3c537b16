"""Holdfast for Google's Agent Development Kit: a plugin that packs every request of the agents in an app.

Rule: the events of a session stay whole. The packed contents take the place of a request's own, for that request.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from holdfast.adapters.requirement import required
from holdfast.errors import HoldfastError, InputError
from holdfast.followed_conversations import (
    MOST_OPEN,
    FollowedConversation,
    FollowedConversations,
    drop_oldest,
)
from holdfast.messages import ToolDefinition
from holdfast.packing.profile import Profile
from holdfast.recall import RECALL_TOOL
from holdfast.store import Store
from holdfast.wire.content_blocks import tool_definitions
from holdfast.wire.foreign_json import Losses
from holdfast.wire.gemini import gemini_usage

with required("google-adk", "2.10"):
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.events.event import Event as AdkEvent
    from google.adk.models.llm_request import LlmRequest
    from google.adk.models.llm_response import LlmResponse
    from google.adk.plugins.base_plugin import BasePlugin
    from google.adk.sessions.session import Session
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.tool_context import ToolContext
    from google.genai import types

    from holdfast.adapters.genai_contents import ContentTranslation, has_results, join_contents

INSTRUCTION = ("The text between ", " your own system instruction for this turn")
"""How ADK begins a content that holds an agent's instruction, where a static one takes the system prompt."""


class HoldfastPlugin(BasePlugin):
    """Packs what the agents of an app send into `budget` tokens, and offers them the tool Recall.

    Each agent has a conversation of its own in each session. With a path as `store` it lasts as long as that.
    """

    def __init__(
        self,
        budget: int | str | None = None,
        *,
        profile: str | Profile = "code",
        model: str = "",
        store: Store | Path | str | None = None,
        name: str = "holdfast",
    ) -> None:
        super().__init__(name)
        self.conversations: FollowedConversations[types.Content] = FollowedConversations(
            ContentTranslation(), budget=budget, profile=profile, model=model, store=store, to="gemini"
        )
        self.recall_tool = HoldfastRecallTool(self)
        self._requests: dict[str, _WholeRequest] = {}
        """The last request of each conversation, before it was packed."""

    def conversation(
        self, session: Session, agent: str, branch: str | None = None, scope: str | None = None
    ) -> FollowedConversation[types.Content]:
        """The conversation of an agent in a session, with its log."""
        return self.conversations.get(_name(session, agent, branch, scope))

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        self._offer_recall(llm_request)
        if llm_request.previous_interaction_id:
            return None  # The provider keeps the conversation: what is sent is only what is new.
        request = _WholeRequest(callback_context, llm_request)
        self._requests.pop(request.name, None)
        self._requests[request.name] = request
        drop_oldest(self._requests, MOST_OPEN)
        await asyncio.to_thread(self._pack, request, llm_request)
        return None

    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> LlmResponse | None:
        request = self._requests.get(_name_in(callback_context))
        counted = llm_response.usage_metadata
        usage = gemini_usage(counted.model_dump(exclude_none=True)) if counted else None
        if request and usage and not llm_response.partial:
            self.conversations.get(request.name).report_usage(usage, llm_response.model_version or "")
        return None

    async def on_model_error_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest, error: Exception
    ) -> LlmResponse | None:
        """Where the request was too long, send a smaller one, once. If that fails, the first error is raised."""
        request = self._requests.get(_name_in(callback_context))
        if request is None:
            return None
        conversation = self.conversations.get(request.name)
        if not conversation.report_error(error):
            return None
        await asyncio.to_thread(self._pack, request, llm_request)
        invocation = callback_context.get_invocation_context()
        model = invocation.agent.canonical_model
        try:
            invocation.increment_llm_call_count()
            replies = [reply async for reply in model.generate_content_async(llm_request)]
        except Exception as second:
            conversation.report_error(second)
            return None
        return replies[-1] if replies else None

    async def on_event_callback(self, *, invocation_context: InvocationContext, event: AdkEvent) -> None:
        """Record an agent's answer, which its next request would bring otherwise."""
        name = _name(invocation_context.session, event.author, event.branch, event.isolation_scope)
        request = self._requests.get(name)
        if request is None or event.partial or not _is_answer(event.content):
            return
        conversation = self.conversations.get(name)
        with suppress(HoldfastError):
            await asyncio.to_thread(
                conversation.follow,
                [*request.contents, event.content],
                system=request.system,
                tools=request.tools,
            )

    def _pack(self, request: "_WholeRequest", llm_request: LlmRequest) -> None:
        packed = self.conversations.get(request.name).pack(
            request.contents, system=request.system, tools=request.tools
        )
        contents = join_contents(packed.messages)
        at = _turn_start(contents)
        llm_request.contents = [*contents[:at], *request.added, *contents[at:]]
        if packed.system != request.system:
            llm_request.config.system_instruction = packed.system

    def _offer_recall(self, llm_request: LlmRequest) -> None:
        present = llm_request.tools_dict.get(RECALL_TOOL.name)
        if present is None and _takes_functions(llm_request.config):
            llm_request.append_tools([self.recall_tool])
        elif present not in (None, self.recall_tool):
            raise InputError(
                f"the tool name `{RECALL_TOOL.name}` is taken: the plugin brings a tool of that name",
                hint="rename your tool",
            )


class HoldfastRecallTool(BaseTool):
    """Recall, as a tool of ADK."""

    def __init__(self, plugin: HoldfastPlugin) -> None:
        super().__init__(name=RECALL_TOOL.name, description=RECALL_TOOL.description)
        self._plugin = plugin

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=RECALL_TOOL.schema
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> str:
        conversation = self._plugin.conversations.get(_name_in(tool_context))
        return await asyncio.to_thread(conversation.recall, args)


class _WholeRequest:
    """What a request says before it is packed. `added` are contents that ADK adds for this request only."""

    def __init__(self, context: CallbackContext, request: LlmRequest) -> None:
        self.name = _name_in(context)
        run = context.run_config
        passing = [*(run.model_input_context or ())] if run else []
        self.added = [c for c in request.contents if c in passing or _is_instruction(c)]
        self.contents = [c for c in request.contents if not any(c is one for one in self.added)]
        self.system = _system_text(request.config.system_instruction)
        self.tools = _tool_definitions(request.config)


def _name_in(context: CallbackContext | ToolContext) -> str:
    return _name(context.session, context.agent_name, context.branch, context.isolation_scope)


def _name(session: Session, agent: str, branch: str | None, scope: str | None) -> str:
    return "\n".join([session.app_name, session.user_id, session.id, agent, branch or "", scope or ""])


def _is_answer(content: types.Content | None) -> bool:
    """Whether it is a reply that a later request has as it is: its calls, if it has some, get their ids later."""
    parts = (content.parts if content and content.role == "model" else None) or []
    return any(p.text and not p.thought for p in parts) and not any(p.function_call for p in parts)


def _is_instruction(content: object) -> bool:
    parts = content.parts if isinstance(content, types.Content) and content.role == "user" else None
    said = (parts[0].text or "") if parts and len(parts) == 1 else ""
    return said.startswith(INSTRUCTION[0]) and INSTRUCTION[1] in said[:400]


def _turn_start(contents: Sequence[types.Content]) -> int:
    """Where the newest contents of the user begin: after the last reply or result."""
    at = len(contents)
    while at and contents[at - 1].role == "user" and not has_results(contents[at - 1]):
        at -= 1
    return at


def _system_text(instruction: object) -> str:
    if isinstance(instruction, types.Content):
        return "\n".join(part.text for part in instruction.parts or () if part.text)
    return instruction if isinstance(instruction, str) else ""


def _tool_definitions(config: types.GenerateContentConfig) -> tuple[ToolDefinition, ...]:
    given = [tool for tool in config.tools or () if isinstance(tool, types.Tool)]
    plain = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in given]
    return tool_definitions([tool for tool in plain if "functionDeclarations" in tool], Losses())


def _takes_functions(config: types.GenerateContentConfig) -> bool:
    """Whether a function may be added: not every model takes one beside its own tools or an output schema."""
    tools = config.tools or []
    if any(isinstance(tool, types.Tool) and tool.function_declarations for tool in tools):
        return True
    return not (tools or config.response_schema or config.response_json_schema or config.cached_content)
