"""Holdfast for the OpenAI Agents SDK: a session whose items live in a log, and the packing of what a model is sent.

    session = HoldfastSession("thread-1", budget="128k", store="agent.db")
    agent = Agent(name="Reader", tools=[read_file, recall_tool])
    await Runner.run(agent, "What does it do?", session=session, run_config=session.run_config())

Rule: `get_items` gives back what was added. Folds change what a model is sent, and nothing else.
"""

import asyncio
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import msgspec

from holdfast.adapters.item_chain import ItemChain
from holdfast.adapters.requirement import required
from holdfast.adapters.responses_items import ResponsesItems
from holdfast.errors import HoldfastError, InputError
from holdfast.followed_conversations import FollowedConversation, FollowedConversations
from holdfast.ids import text_id
from holdfast.messages import ToolDefinition, Usage
from holdfast.packing.profile import Profile
from holdfast.recall import RECALL_TOOL
from holdfast.session_settings import chosen_store
from holdfast.store import Store
from holdfast.wire.content_blocks import WireDict
from holdfast.wire.responses import is_reply_item

with required("openai-agents", "0.23.1"):
    from agents.run_config import CallModelData, ModelInputData

    from agents import (
        FunctionTool,
        ModelRetrySettings,
        ModelSettings,
        RetryDecision,
        RunConfig,
        SessionSettings,
        retry_policies,
    )


class _PackedRequest:
    """One request to a model: what it was made from, and what is sent, which a retry may replace."""

    def __init__(
        self, conversation: FollowedConversation[WireDict], data: ModelInputData, tools: list[ToolDefinition]
    ) -> None:
        self.conversation = conversation
        self.items = data.input
        self._instructions = data.instructions
        self._tools = tools
        self.sent = data
        self.is_retried = False

    def pack(self) -> None:
        packed = self.conversation.pack(self.items, system=self._instructions or "", tools=self._tools)
        self.sent.input, self.sent.instructions = packed.messages, packed.system or self._instructions

    def follow(self, items: list[WireDict]) -> None:
        """Record what came after it."""
        listed = [*self.items, *items]
        self.conversation.follow(listed, system=self._instructions or "", tools=self._tools)


_request: ContextVar[_PackedRequest] = ContextVar("request")
"""The last request of the task at hand: what a tool is called by, or a retry is of."""


class HoldfastSession:
    """The items of one conversation, and its packing. One run at a time uses a session."""

    def __init__(
        self,
        session_id: str,
        *,
        budget: int | str | None = None,
        profile: str | Profile = "code",
        model: str = "",
        store: Store | Path | str | None = None,
        session_settings: SessionSettings | None = None,
    ) -> None:
        if not isinstance(session_id, str) or not session_id:
            raise InputError("a session needs an id", hint='HoldfastSession("thread-1", budget="128k")')
        self.session_id = session_id
        self.session_settings = session_settings or SessionSettings()
        self.store = chosen_store(store)
        self._settings: dict[str, Any] = {"budget": budget, "profile": profile, "model": model}
        self._model = model
        self._run: Any = None
        """The context of the run that uses this session."""
        self._requests = 0
        """How many requests that run had made before the one whose usage comes next."""
        self._last: _PackedRequest | None = None
        self._open()

    def _open(self) -> None:
        self._conversations = FollowedConversations(
            ResponsesItems(), **self._settings, store=self.store, to="responses"
        )
        self._conversation = self._conversations.get(self.session_id)
        self._items = ItemChain(self._conversation.session)

    def run_config(self, config: RunConfig | None = None) -> RunConfig:
        """A configuration for runs with this session: yours, if you have one, with the packing in it.

        A filter of yours comes first. A request that is too long for the model is packed again and sent once more.
        """
        config = config or RunConfig()
        settings = config.model_settings or ModelSettings()
        retry = settings.retry or ModelRetrySettings()
        policy = retry_policies.any(retry_smaller, retry.policy) if retry.policy else retry_smaller
        retry = replace(retry, max_retries=max(retry.max_retries or 0, 1), policy=policy)
        before = config.call_model_input_filter

        async def packed(data: CallModelData[Any]) -> ModelInputData:
            if before is not None:
                found = before(data)
                data = replace(data, model_data=found if isinstance(found, ModelInputData) else await found)
            return await self.input_filter(data)

        settings = replace(settings, retry=retry)
        return replace(config, call_model_input_filter=packed, model_settings=settings)

    async def input_filter(self, data: CallModelData[Any]) -> ModelInputData:
        """What to send now, for `RunConfig(call_model_input_filter=…)`."""
        conversation = self._conversation_of(data.model_data.input)
        if conversation is self._conversation:
            self._count()
        tools = [tool for tool in data.agent.tools if isinstance(tool, FunctionTool)]
        definitions = [ToolDefinition(t.name, t.description, t.params_json_schema) for t in tools]
        request = _PackedRequest(conversation, data.model_data, definitions)
        await asyncio.to_thread(request.pack)
        _request.set(request)
        if conversation is self._conversation:
            self._last = request
        return request.sent

    async def get_items(self, limit: int | None = None, *, wrapper: Any = None) -> list[WireDict]:
        """The items, oldest first; the newest of them where there is a limit."""
        self._note_run(wrapper)
        found = await asyncio.to_thread(self._items.all)
        limit = self.session_settings.limit if limit is None else limit
        return found if limit is None else found[max(len(found) - max(limit, 0), 0) :]

    async def add_items(self, items: list[WireDict], *, wrapper: Any = None) -> None:
        """Add items, all or none."""
        self._note_run(wrapper)
        await asyncio.to_thread(self._items.add, items)
        if self._last is not None and any(map(is_reply_item, items)):
            # So that the last reply of a run, and its usage, are in the log at once.
            last, self._last = self._last, None
            self._count()
            await asyncio.to_thread(last.follow, items)

    async def pop_item(self, *, wrapper: Any = None) -> WireDict | None:
        """Take back the newest item."""
        self._note_run(wrapper)
        return await asyncio.to_thread(self._items.pop)

    async def clear_session(self, *, wrapper: Any = None) -> None:
        """Delete the session's log: nothing of it can be recalled."""
        self._note_run(wrapper)
        self._last = None
        await asyncio.to_thread(self.store.delete, self._conversation.session.log.id)
        self._open()

    def close(self) -> None:
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _note_run(self, wrapper: Any) -> None:
        """A run says who it is with each use of its session."""
        if wrapper is not None and wrapper is not self._run:
            self._run, self._requests = wrapper, len(wrapper.usage.request_usage_entries)

    def _conversation_of(self, items: list[WireDict]) -> FollowedConversation[WireDict]:
        """The session's own, unless the items are of another run: that of an agent which is a tool of this one."""
        own = self._run.turn_input if self._run else []
        if not own or not items or _opening(items[0]) == _opening(own[0]):
            return self._conversation
        return self._conversations.get(f"{self.session_id} / {text_id(_opening(items[0]))}")

    def _count(self) -> None:
        """Report the usage of the run's last request. Those of agents that are its tools come after it."""
        if self._run is None:
            return
        entries = self._run.usage.request_usage_entries
        # A request that failed is an entry without tokens.
        for entry in [entry for entry in entries[self._requests :] if entry.input_tokens][:1]:
            details = entry.input_tokens_details
            written = getattr(details, "cache_write_tokens", 0) or 0
            usage = Usage(entry.input_tokens, entry.output_tokens, details.cached_tokens or 0, written)
            self._conversation.report_usage(usage, self._model)
        self._requests = len(entries)


async def retry_smaller(context: Any) -> bool | RetryDecision:
    """A retry policy: a request that was too long is packed again, smaller, and sent in its place, once."""
    request = _request.get(None)
    if request is None or request.is_retried:
        return False
    try:
        if not request.conversation.report_error(context.error):
            return False
        await asyncio.to_thread(request.pack)
    except HoldfastError:
        # Nothing more can be left out; what the provider said is the better answer.
        return False
    request.is_retried = True
    return RetryDecision(retry=True, delay=0.0, reason="the request was too long")


def _opening(item: WireDict) -> str:
    read = next(ResponsesItems().read([item]), ((), ()))
    return msgspec.json.encode(read[1]).decode()


async def _recall(_: Any, arguments: str) -> str:
    request = _request.get(None)
    if request is None:
        return "Recall works in runs with the `run_config` of a HoldfastSession, and this is none."
    return await asyncio.to_thread(request.conversation.recall, arguments)


recall_tool = FunctionTool(
    name=RECALL_TOOL.name,
    description=RECALL_TOOL.description,
    params_json_schema=RECALL_TOOL.schema,
    on_invoke_tool=_recall,
    strict_json_schema=False,
)
"""The Recall tool, for the tools of any agent that is run with a session's `run_config`."""
