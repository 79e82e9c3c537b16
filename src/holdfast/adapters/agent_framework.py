"""Holdfast for Microsoft Agent Framework: a context provider that packs every request and brings the tool Recall.

Rule: only what is sent changes. The pack is a compaction strategy of one call of the model, on a list of that call,
so the history of a session stays whole.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from holdfast.adapters.requirement import required
from holdfast.errors import InputError
from holdfast.followed_conversations import FollowedConversation, FollowedConversations
from holdfast.messages import ToolDefinition, Usage
from holdfast.packing.profile import Profile
from holdfast.recall import RECALL_TOOL
from holdfast.store import Store

with required("agent-framework-core", "1.23"):
    from agent_framework import (
        AgentSession,
        ChatContext,
        ChatMiddleware,
        ChatResponse,
        ContextProvider,
        FunctionTool,
        Message,
        ResponseStream,
        SessionContext,
        SupportsAgentRun,
        included_messages,
    )

    from holdfast.adapters.agent_framework_messages import FrameworkMessageList, FrameworkTranslation

CACHED_APART = ("anthropic.cache_read_input_tokens", "anthropic.cache_creation_input_tokens")
"""Tokens that a client counts beside its input, and not in it."""


class HoldfastContextProvider(ContextProvider):
    """Packs what an agent sends into `budget` tokens: one of the `context_providers` of an `Agent`.

    A session is a conversation, with a log. With a path as `store`, a session that is restored from its `to_dict()`
    continues its log, in another process too.
    """

    def __init__(
        self,
        budget: int | str | None = None,
        *,
        profile: str | Profile = "code",
        model: str = "",
        store: Store | Path | str | None = None,
        source_id: str = "holdfast",
    ) -> None:
        super().__init__(source_id)
        self.conversations: FollowedConversations[Message] = FollowedConversations(
            FrameworkTranslation(), budget=budget, profile=profile, model=model, store=store
        )

    def conversation(self, agent: SupportsAgentRun, session: AgentSession) -> FollowedConversation[Message]:
        """What an agent said in a session, with its log. An agent that is another's tool may share its session."""
        return self.conversations.get("/".join(filter(None, [session.session_id, agent.name])))

    def close(self) -> None:
        """Close the store."""
        self.conversations.close()

    async def before_run(
        self,
        *,
        agent: SupportsAgentRun,
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],  # noqa: ARG002 - of the interface
    ) -> None:
        _check_storage(agent, context)
        conversation = partial(self.conversation, agent, session)

        async def recall(**arguments: Any) -> str:
            return await asyncio.to_thread(lambda: conversation().recall(arguments))

        tool = FunctionTool(
            name=RECALL_TOOL.name,
            description=RECALL_TOOL.description,
            func=recall,
            input_model=RECALL_TOOL.schema,
        )
        context.extend_tools(self.source_id, [tool])
        context.extend_middleware(self.source_id, PackingMiddleware(conversation))


class PackingMiddleware(ChatMiddleware):
    """Gives each call of the model a strategy that packs, and calls once more where the request was too long."""

    def __init__(self, conversation: Callable[[], FollowedConversation[Message]]) -> None:
        self._conversation = conversation

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        call = _ModelCall(self._conversation, context, call_next)
        if context.stream:
            context.result = ResponseStream(call.updates(), finalizer=call.final_response)
            return
        try:
            await call.begin()
        except Exception as error:
            if not await asyncio.to_thread(call.is_too_long, error):
                raise
            await call.begin()
        if isinstance(context.result, ChatResponse):
            await asyncio.to_thread(call.add, context.result)


class _ModelCall:
    """One call of the model; it is the compaction strategy of that call."""

    def __init__(
        self,
        conversation: Callable[[], FollowedConversation[Message]],
        context: ChatContext,
        call_next: Callable[[], Awaitable[None]],
    ) -> None:
        self._conversation = conversation
        self._context = context
        self._call_next = call_next
        self._given = [*context.messages]
        self._sent = FrameworkMessageList([])

    async def begin(self) -> None:
        self._context.messages = [*self._given]
        self._context.kwargs["compaction_strategy"] = self
        await self._call_next()

    async def updates(self) -> AsyncIterator[Any]:
        is_begun = False
        try:
            async for update in await self._stream():
                is_begun = True
                yield update
        except Exception as error:
            if is_begun or not await asyncio.to_thread(self.is_too_long, error):
                raise
        else:
            return
        async for update in await self._stream():
            yield update

    async def final_response(self, _: Sequence[Any]) -> ChatResponse:
        response = await self._inner.get_final_response()
        await asyncio.to_thread(self.add, response)
        return response

    async def _stream(self) -> ResponseStream[Any, Any]:
        await self.begin()
        self._inner = self._context.result
        return self._inner

    async def __call__(self, messages: list[Message]) -> bool:
        """Put the pack in place of the messages, which are those of this call; whether it differs from them."""
        packed = await asyncio.to_thread(self._pack, included_messages(messages))
        is_same = len(packed) == len(messages) and all(map(lambda a, b: a is b, packed, messages))
        messages[:] = packed
        return not is_same

    def _pack(self, messages: list[Message]) -> list[Message]:
        self._sent = FrameworkMessageList(messages)
        if not self._sent.messages:
            return messages
        packed = self._conversation().pack(self._sent.messages, system=self._system(), tools=self._tools())
        return self._sent.joined(packed.messages)

    def is_too_long(self, error: BaseException | None) -> bool:
        """Whether an error, or what caused it, says so."""
        while error is not None:
            if self._conversation().report_error(error):
                return True
            error = error.__cause__
        return False

    def add(self, response: ChatResponse) -> None:
        """Record the reply with its usage."""
        if not self._sent.messages:
            return
        conversation = self._conversation()
        counted = response.usage_details or {}
        if asked := counted.get("input_token_count"):
            prompt = asked + sum(counted.get(name) or 0 for name in CACHED_APART)
            read, write = (
                counted.get(f"cache_{kind}_input_token_count") or 0 for kind in ("read", "creation")
            )
            usage = Usage(prompt, counted.get("output_token_count") or 0, read, write)
            conversation.report_usage(usage, response.model or "")
        said = [*self._sent.messages, *FrameworkMessageList(response.messages).messages]
        conversation.follow(said, system=self._system(), tools=self._tools())

    def _system(self) -> str:
        instructions = (self._context.options or {}).get("instructions")
        return "\n\n".join(filter(None, [instructions, *(message.text for message in self._sent.opening)]))

    def _tools(self) -> list[ToolDefinition]:
        return [*_definitions((self._context.options or {}).get("tools") or [])]


def _definitions(tools: Sequence[Any]) -> Iterator[ToolDefinition]:
    for tool in tools:
        if isinstance(tool, FunctionTool):
            # OpenAI's client writes this into the schema itself when it sends it first.
            schema = {"additionalProperties": False, **tool.parameters()}
            yield ToolDefinition(tool.name, tool.description or "", schema)
        elif isinstance(tool, Mapping):
            yield ToolDefinition(str(tool.get("name") or tool.get("type") or ""), "", dict(tool))


def _check_storage(agent: SupportsAgentRun, context: SessionContext) -> None:
    """Where the service keeps the history, a request has only what is new, and nothing can be left out of it."""
    options = {**getattr(agent, "default_options", {}), **context.options}
    is_stored = options.get("store")
    if is_stored is None:
        is_stored = getattr(getattr(agent, "client", None), "STORES_BY_DEFAULT", False)
    if is_stored or context.service_session_id or options.get("conversation_id"):
        raise InputError(
            "the service keeps this agent's history, so there is nothing to pack",
            hint='Agent(…, default_options={"store": False}), and a session of this agent\'s own',
        )
