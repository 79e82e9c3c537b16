"""Holdfast for LiteLLM: a callback that packs the messages of every chat completion, in a program or in the proxy.

    handler = HoldfastHandler(budget="128k", store="agent.db")
    litellm.callbacks = [handler]
    await litellm.acompletion(model="gpt-5.2", messages=messages, litellm_session_id="thread-1")

Rule: Recall is offered only where it can be answered here, so that no caller ever sees a call of it.
"""

import asyncio
from collections.abc import Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Any, ClassVar
from uuid import uuid4

from holdfast.adapters.chat_calls import MOST_ROUNDS, PackedCall
from holdfast.adapters.list_names import ListNames
from holdfast.adapters.requirement import required
from holdfast.errors import HoldfastError, InputError
from holdfast.followed_conversations import FollowedConversations
from holdfast.packing.profile import Profile
from holdfast.recall import RECALL_TOOL
from holdfast.session_settings import chosen_store
from holdfast.store import Store
from holdfast.wire.foreign_json import obj
from holdfast.wire.translation import WireTranslation

with required("litellm", "1.106"):
    import litellm
    from litellm.integrations.custom_logger import CustomLogger
    from litellm.types.integrations.custom_logger import (
        CHAT_COMPLETION_AGENTIC_SURFACE,
        HEADROOM_CONVERTED_STREAM_KEY,
        AgenticLoopPlan,
        AgenticLoopRequestPatch,
    )
    from litellm.types.utils import CallTypes

MOST_CALLS = 1_000
"""How many requests are remembered, for what is said of them later."""

_is_packed: ContextVar[bool] = ContextVar("is_packed", default=False)
"""Whether the request at hand was packed before LiteLLM was called."""


class ChatRequestRefused(InputError):
    """A request that cannot be packed. A router does not try again, and the proxy answers with this status."""

    status_code = 400


class HoldfastHandler(CustomLogger):
    """Packs chat completions, and answers Recall. A conversation is known by its session id, else by its list.

    `holds_streams`: a streamed reply is held back until it is whole, because only then Recall can be answered.
    """

    server_fulfilled_tool_names: ClassVar[frozenset[str]] = frozenset({RECALL_TOOL.name})

    def __init__(
        self,
        *,
        budget: int | str | None = None,
        profile: str | Profile = "code",
        model: str = "",
        store: Store | Path | str | None = None,
        holds_streams: bool = False,
    ) -> None:
        super().__init__()
        opened = None if store is None else chosen_store(store)
        self._conversations = FollowedConversations(
            WireTranslation("openai"), budget=budget, profile=profile, model=model, store=opened
        )
        self._holds_streams = holds_streams
        self._is_lasting = opened is not None
        self._names = ListNames(self._forget)
        self._calls: dict[str, PackedCall] = {}

    def completion(self, **request: Any) -> Any:
        """`litellm.completion`, packed: it has no callback for that. Recall is answered, unless streamed."""
        call = self._begin(request, can_recall=not request.get("stream"))
        sent: dict[str, Any] | None = {**request, **call.pack()}
        while sent is not None:
            try:
                response = litellm.completion(**sent)
            except Exception as error:
                if not call.retry(error, is_overflow=_is_overflow(error)):
                    raise
                sent = {**request, **call.pack()}
                continue
            if call.is_streamed:
                return response
            sent = call.next_request(sent, response)
        return response

    async def acompletion(self, **request: Any) -> Any:
        """`litellm.acompletion`, packed, and sent once more where it was too long: a callback cannot do that."""
        call = await asyncio.to_thread(self._begin, request, can_recall=not request.get("stream"))
        if call.is_streamed:
            # What it used is told later, to the callback.
            request.setdefault("litellm_call_id", str(uuid4()))
            self._remember(request["litellm_call_id"], call)
        sent: dict[str, Any] | None = {**request, **await asyncio.to_thread(call.pack)}
        is_packed = _is_packed.set(True)
        try:
            while sent is not None:
                try:
                    response = await litellm.acompletion(**sent)
                except Exception as error:
                    if not call.retry(error, is_overflow=_is_overflow(error)):
                        raise
                    sent = {**request, **await asyncio.to_thread(call.pack)}
                    continue
                if call.is_streamed:
                    return response
                sent = await asyncio.to_thread(call.next_request, sent, response)
            return response
        finally:
            _is_packed.reset(is_packed)

    async def async_pre_call_deployment_hook(
        self, kwargs: dict[str, Any], call_type: Any
    ) -> dict[str, Any] | None:
        """Pack a request, again for each retry and fallback: each begins with the caller's own list."""
        is_chat = call_type in (CallTypes.completion, CallTypes.acompletion)
        if not is_chat or _is_packed.get() or kwargs.get("_agentic_loop_depth") or not kwargs.get("messages"):
            return None
        is_held = bool(kwargs.get("stream")) and self._holds_streams
        try:
            packed = await asyncio.to_thread(self._packed, kwargs, is_held or not kwargs.get("stream"))
        except HoldfastError as error:
            raise ChatRequestRefused(error.message, hint=error.hint) from error
        return {**packed, "stream": False, HEADROOM_CONVERTED_STREAM_KEY: True} if is_held else packed

    async def async_should_run_agentic_loop(
        self, response: Any, *_: Any, kwargs: Any, **__: Any
    ) -> tuple[bool, dict[str, Any]]:
        """Whether a reply asks for Recall."""
        call = self._calls.get(kwargs.get("litellm_call_id", ""))
        is_chat = kwargs.get("_agentic_loop_api_surface") == CHAT_COMPLETION_AGENTIC_SURFACE
        calls = call.recalls(response) if call and is_chat and not _is_packed.get() else []
        return bool(calls), {"tool_calls": calls}

    async def async_build_agentic_loop_plan(
        self, *_: Any, model: str, messages: list[Any], response: Any, kwargs: Any, **__: Any
    ) -> AgenticLoopPlan:
        """The request with the answers of Recall."""
        call = self._calls[kwargs["litellm_call_id"]]
        depth = int(kwargs.get("_agentic_loop_depth") or 0) + 1
        last = call.last_tools() if depth >= int(kwargs.get("max_agentic_loops") or MOST_ROUNDS) else {}
        answered = await asyncio.to_thread(call.answered, response)
        patch = AgenticLoopRequestPatch(
            model=model,
            messages=[*messages, *answered],
            tools=last.pop("tools", None),
            optional_params=last,
            kwargs={key: value for key, value in kwargs.items() if key != "litellm_logging_obj"},
        )
        return AgenticLoopPlan(run_agentic_loop=True, request_patch=patch)

    async def async_post_call_success_deployment_hook(
        self, request_data: dict[str, Any], response: Any, *_: Any, **__: Any
    ) -> None:
        call = self._calls.get(request_data.get("litellm_call_id", ""))
        if call is not None:
            call.report_usage(response)

    async def async_post_call_failure_deployment_hook(
        self, request_data: Mapping[str, Any], exception: Exception, *_: Any, **__: Any
    ) -> None:
        """A request that was too long makes the next one of its conversation smaller."""
        call = self._calls.get(request_data.get("litellm_call_id", ""))
        if call is not None and not _is_packed.get():
            call.retry(exception, is_overflow=_is_overflow(exception))

    async def async_log_success_event(self, kwargs: Any, response_obj: Any, *_: Any, **__: Any) -> None:
        self.log_success_event(kwargs, response_obj)

    def log_success_event(self, kwargs: Any, response_obj: Any, *_: Any, **__: Any) -> None:
        """The usage of a stream is known when it has ended."""
        call = self._calls.get(kwargs.get("litellm_call_id", ""))
        if call is not None and call.is_streamed:
            call.report_usage(response_obj)

    def _packed(self, request: Mapping[str, Any], can_recall: bool) -> dict[str, Any]:
        call = self._begin(request, can_recall=can_recall)
        self._remember(request["litellm_call_id"], call)
        return {**request, **call.pack()}

    def _remember(self, id_: str, call: PackedCall) -> None:
        self._calls[id_] = call
        for oldest in [*self._calls][: len(self._calls) - MOST_CALLS]:
            self._calls.pop(oldest, None)

    def _begin(self, request: Mapping[str, Any], *, can_recall: bool) -> PackedCall:
        messages = request.get("messages")
        if not isinstance(messages, list) or not messages:
            raise InputError(
                "a chat completion needs a list of messages", hint="completion(model=…, messages=[…])"
            )
        return PackedCall(self._conversations.get(self._name(request)), request, can_recall=can_recall)

    def _name(self, request: Mapping[str, Any]) -> str:
        """What the caller calls the conversation, or what its list is known by; of no other key or user."""
        metadata = obj(request.get("metadata")) | obj(request.get("litellm_metadata"))
        key = metadata.get("user_api_key_hash") or metadata.get("user_api_key") or ""
        owner = f"{key}/{request.get('user') or ''}"
        session = request.get("litellm_session_id") or metadata.get("session_id")
        if session:
            return str(session) if owner == "/" else f"{owner}/{session}"
        return self._names.name_of(owner, request["messages"])

    def _forget(self, name: str) -> None:
        """Delete a log that nothing leads to any more, unless it is kept on purpose."""
        if not self._is_lasting:
            self._conversations.store.delete(self._conversations.get(name).session.log.id)

    def close(self) -> None:
        self._conversations.close()


def _is_overflow(error: BaseException) -> bool:
    return isinstance(error, litellm.ContextWindowExceededError)
