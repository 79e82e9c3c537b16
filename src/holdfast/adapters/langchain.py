"""Holdfast in LangChain and LangGraph: a middleware for `create_agent`, and a trimmer for chains and nodes.

Rule: only what is sent is packed. The state of the graph, and so every checkpoint, keeps all messages.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from holdfast.adapters.requirement import required
from holdfast.followed_conversations import FollowedConversation, FollowedConversations
from holdfast.messages import ToolDefinition
from holdfast.packing.profile import Profile
from holdfast.recall import RECALL_TOOL
from holdfast.store import Store
from holdfast.wire.content_blocks import tool_definitions
from holdfast.wire.foreign_json import Losses, obj

with required("langchain", "1.3.0"):
    from langchain.agents.middleware import AgentMiddleware
    from langchain_core.exceptions import ContextOverflowError
    from langchain_core.messages import SystemMessage
    from langchain_core.runnables import Runnable, RunnableConfig, ensure_config
    from langchain_core.tools import StructuredTool
    from langchain_core.utils.function_calling import convert_to_openai_tool
    from langgraph.prebuilt import ToolRuntime

    from holdfast.adapters.langchain_messages import (
        ChatTranslation,
        converted_messages,
        opening_prompts,
        system_text,
    )

MOST_PASSING = 64
"""How many conversations that are neither named nor stored are remembered at once."""


class HoldfastMiddleware(AgentMiddleware):
    """Packs what an agent of `create_agent` sends into a budget of tokens, and gives the agent the tool Recall.

    A conversation is named by the run's `thread_id`; without one, by the id of its first message. A request that
    was too long for the model is sent again once, smaller.
    """

    def __init__(
        self,
        *,
        budget: int | str | None = None,
        profile: str | Profile = "code",
        model: str = "",
        store: Store | Path | str | None = None,
    ) -> None:
        super().__init__()
        self.conversations = ThreadConversations(budget=budget, profile=profile, model=model, store=store)
        self.recall = self.conversations.recall_tool()
        self.tools = [self.recall]

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        if not request.messages:
            return handler(request)
        conversation = self._conversation(request)
        try:
            response = handler(_packed(conversation, request))
        except Exception as error:
            if not _is_overflow(conversation, error):
                raise
            response = handler(_packed(conversation, request))
        _record_last_reply(conversation, request, response)
        return response

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        if not request.messages:
            return await handler(request)
        conversation = self._conversation(request)
        try:
            response = await handler(await asyncio.to_thread(_packed, conversation, request))
        except Exception as error:
            if not _is_overflow(conversation, error):
                raise
            response = await handler(await asyncio.to_thread(_packed, conversation, request))
        await asyncio.to_thread(_record_last_reply, conversation, request, response)
        return response

    def _conversation(self, request: Any) -> FollowedConversation[Any]:
        # The state has what Recall sees too; other middleware may have changed the request.
        return self.conversations.get(ensure_config(), request.state.get("messages") or request.messages)


class HoldfastTrimmer(Runnable[Any, list[Any]]):
    """Packs a list of messages into a budget of tokens, where `trim_messages` would cut it: `trimmer | model`.

    The `thread_id` of the config, or else the id of the first message, names the conversation, whose folds stay as
    they are from call to call; without either, each list is packed by itself. `tools` are the tools of the model.
    """

    def __init__(
        self,
        *,
        budget: int | str | None = None,
        profile: str | Profile = "code",
        model: str = "",
        store: Store | Path | str | None = None,
        tools: Sequence[Any] = (),
    ) -> None:
        self.conversations = ThreadConversations(budget=budget, profile=profile, model=model, store=store)
        self.recall = self.conversations.recall_tool()
        self._tools = _definitions([*tools, self.recall])

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> list[Any]:  # noqa: A002
        """The messages to send, for whatever a chat model takes: messages, or the value of a prompt."""
        return self._call_with_config(self._trimmed, input, config, **kwargs)

    def _trimmed(self, given: Any, config: RunnableConfig) -> list[Any]:
        messages = converted_messages(given)
        if not messages:
            return []
        packed = self.conversations.get(config, messages).pack(messages, tools=self._tools)
        prompts = opening_prompts(messages)
        if packed.system != "\n\n".join(filter(None, map(system_text, prompts))):
            prompts = [SystemMessage(packed.system)]
        return [*prompts, *packed.messages]


class ThreadConversations:
    """The conversations of a middleware or a trimmer, found by a run's config and its messages."""

    def __init__(self, **settings: Any) -> None:
        self._settings = settings
        self._lasting: FollowedConversations[Any] = FollowedConversations(ChatTranslation(), **settings)
        self._passing: dict[str, FollowedConversation[Any]] = {}

    def get(self, config: RunnableConfig, messages: Sequence[Any]) -> FollowedConversation[Any]:
        name = conversation_name(config, messages)
        if _thread(config) or (name and self._settings["store"] is not None):
            return self._lasting.get(name)
        found = self._passing.pop(name, None) if name else None
        if found is None:
            settings = {**self._settings, "store": None}
            found = FollowedConversations(ChatTranslation(), **settings).get("passing")
        if name:
            self._passing[name] = found
        for oldest in [*self._passing][: len(self._passing) - MOST_PASSING]:
            self._passing.pop(oldest, None)
        return found

    def recall_tool(self) -> Any:
        """Recall as a tool of LangChain's. It answers from the conversation of the run that calls it."""

        def recall(config: RunnableConfig, runtime: ToolRuntime | None = None, **arguments: Any) -> str:
            state = runtime.state if runtime else []
            messages = state if isinstance(state, list) else obj(state).get("messages") or []
            if not conversation_name(config, messages):
                return "Recall cannot tell which conversation this is: the config has no `thread_id`"
            return self.get(config, messages).recall(arguments)

        return StructuredTool.from_function(
            recall, name=RECALL_TOOL.name, description=RECALL_TOOL.description, args_schema=RECALL_TOOL.schema
        )


def conversation_name(config: RunnableConfig, messages: Sequence[Any]) -> str:
    """The thread; of a graph inside another, which shares the thread, with its place and its first message.

    Without a thread, the id of the first message, which every graph gives it; empty where there is none.
    """
    namespace = str(config.get("configurable", {}).get("checkpoint_ns") or "")
    # Each node has a number after its name, which is another in every step.
    outer = [node.partition(":")[0] for node in namespace.split("|")[:-1]]
    first = str(getattr(messages[0], "id", None) or "") if messages else ""
    thread = _thread(config)
    return " ".join([thread, *outer, first]) if thread and outer else thread or first


def _thread(config: RunnableConfig) -> str:
    thread = config.get("configurable", {}).get("thread_id")
    return "" if thread is None else str(thread)


def _packed(conversation: FollowedConversation[Any], request: Any) -> Any:
    beside = _beside(request)
    packed = conversation.pack(request.messages, **beside)
    system = request.system_message if packed.system == beside["system"] else SystemMessage(packed.system)
    return request.override(messages=packed.messages, system_message=system)


def _record_last_reply(conversation: FollowedConversation[Any], request: Any, response: Any) -> None:
    """Record the reply that ends a run. Any other is recorded by the request that follows it."""
    if response.result and not any(getattr(message, "tool_calls", ()) for message in response.result):
        conversation.follow([*request.messages, *response.result], **_beside(request))


def _beside(request: Any) -> dict[str, Any]:
    """What a request has besides its messages."""
    said = system_text(request.system_message) if request.system_message else ""
    return {"system": said, "tools": _definitions(request.tools)}


def _is_overflow(conversation: FollowedConversation[Any], error: Exception) -> bool:
    return conversation.report_error(error, is_overflow=isinstance(error, ContextOverflowError))


def _definitions(tools: Sequence[Any]) -> tuple[ToolDefinition, ...]:
    """Tools as a model is told of them. A provider's own are dicts, which may have no schema: they do not count."""
    told = [tool if isinstance(tool, dict) else convert_to_openai_tool(tool) for tool in tools]
    return tool_definitions(told, Losses())
