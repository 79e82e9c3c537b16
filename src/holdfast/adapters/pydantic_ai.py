"""Holdfast for Pydantic AI: a capability that packs every request to the model and brings the tool Recall.

Rule: only what is sent changes. The pack is made in a model around the model, after everything that writes the
history, so `result.all_messages()` stays whole.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TypeVar

from holdfast.adapters.requirement import required
from holdfast.followed_conversations import FollowedConversation, FollowedConversations
from holdfast.messages import ToolDefinition
from holdfast.packing.profile import Profile
from holdfast.recall import RECALL_TOOL
from holdfast.store import Store

with required("pydantic-ai-slim", "2.62"):
    from anyio import to_thread
    from pydantic_ai import RunContext, Tool
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.exceptions import ModelContextWindowExceededError
    from pydantic_ai.messages import InstructionPart, ModelMessage, ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
    from pydantic_ai.models.wrapper import WrapperModel
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.toolsets import FunctionToolset
    from pydantic_ai.usage import RequestUsage

    from holdfast.adapters.pydantic_ai_messages import MessagePiece, PieceList, PieceTranslation

T = TypeVar("T")
Send = Callable[[list[ModelMessage], ModelRequestParameters], Awaitable[T]]


class Holdfast(AbstractCapability[Any]):
    """Packs what an agent sends into `budget` tokens: `Agent(…, capabilities=[Holdfast(budget="128k")])`.

    A run continues the log of its `conversation_id`, which Pydantic AI takes from `message_history` where it is not
    given. With a path as `store` that works in another process too.
    """

    def __init__(
        self,
        budget: int | str | None = None,
        *,
        profile: str | Profile = "code",
        model: str = "",
        store: Store | Path | str | None = None,
    ) -> None:
        self.conversations: FollowedConversations[MessagePiece] = FollowedConversations(
            PieceTranslation(), budget=budget, profile=profile, model=model, store=store
        )
        self._run_conversation = ""

    def conversation(self, conversation_id: str) -> FollowedConversation[MessagePiece]:
        """A conversation by its id, such as `result.conversation_id`, with its log."""
        return self.conversations.get(conversation_id)

    def close(self) -> None:
        """Close the store."""
        self.conversations.close()

    async def for_run(self, ctx: RunContext[Any]) -> Self:
        bound = copy(self)
        bound._run_conversation = ctx.conversation_id or ""  # noqa: SLF001 - of a copy of this object
        return bound

    def get_toolset(self) -> FunctionToolset[Any]:
        recall = Tool.from_schema(
            self._recall, RECALL_TOOL.name, RECALL_TOOL.description, RECALL_TOOL.schema, takes_ctx=True
        )
        return FunctionToolset([recall], id="holdfast")

    def get_wrapper_model(self, model: Model) -> Model:
        return PackingModel(model, self.conversations, self._run_conversation)

    async def _recall(self, ctx: RunContext[Any], **arguments: Any) -> str:
        return await to_thread.run_sync(self.conversation(ctx.conversation_id or "").recall, arguments)


class PackingModel(WrapperModel):
    """A model that is sent the packed list in place of the whole one, and once more where that was too long."""

    def __init__(self, wrapped: Model, conversations: FollowedConversations[MessagePiece], name: str) -> None:
        super().__init__(wrapped)
        self._conversations = conversations
        self._conversation = name

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        request = await self._given(messages, model_request_parameters)
        response = await request.send(
            lambda packed, parameters: self.wrapped.request(packed, model_settings, parameters)
        )
        await request.add(response)
        return response

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        request = await self._given(messages, model_request_parameters)
        async with AsyncExitStack() as stack:
            stream = await request.send(
                lambda packed, parameters: stack.enter_async_context(
                    self.wrapped.request_stream(packed, model_settings, parameters, run_context)
                )
            )
            yield stream
            await request.add(stream.get())

    async def count_tokens(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> RequestUsage:
        request = await self._given(messages, model_request_parameters)
        packed, parameters = await request.pack()
        return await self.wrapped.count_tokens(packed, model_settings, parameters)

    async def _given(
        self, messages: list[ModelMessage], parameters: ModelRequestParameters
    ) -> "_GivenRequest":
        # Without a name the run was not bound: a durable engine asks the agent's own capability for its model.
        ids = (getattr(message, "conversation_id", None) for message in reversed(messages))
        name = self._conversation or next(filter(None, ids), "")
        return await to_thread.run_sync(
            lambda: _GivenRequest(self._conversations.get(name), messages, parameters)
        )


class _GivenRequest:
    """A request as Pydantic AI gave it. What may take a while is done in a thread."""

    def __init__(
        self,
        conversation: FollowedConversation[MessagePiece],
        messages: list[ModelMessage],
        parameters: ModelRequestParameters,
    ) -> None:
        self._conversation = conversation
        self._messages = messages
        # A reply that its provider will continue belongs to the request before it, and is sent back as it was.
        self._tail = messages[-1:] if messages and isinstance(messages[-1], ModelResponse) else []
        self._list = PieceList(messages[: len(messages) - len(self._tail)])
        self._parameters = parameters
        instructions = InstructionPart.join(parameters.instruction_parts or []) or ""
        self._system = "\n\n".join(filter(None, [instructions, *(p.content for p in self._list.opening)]))
        self._tools = [
            ToolDefinition(tool.name, tool.description or "", tool.parameters_json_schema)
            for tool in (*parameters.function_tools, *parameters.output_tools)
        ]

    async def send(self, send: Send[T]) -> T:
        try:
            return await send(*await self.pack())
        except Exception as error:
            if not await to_thread.run_sync(self._is_too_long, error):
                raise
        return await send(*await self.pack())

    async def pack(self) -> tuple[list[ModelMessage], ModelRequestParameters]:
        return await to_thread.run_sync(self._pack)

    async def add(self, response: ModelResponse) -> None:
        """Record the reply with its usage. One that is not whole is recorded with the next request."""
        if response.state == "complete" and not self._tail:
            await to_thread.run_sync(self._follow, response)

    def _pack(self) -> tuple[list[ModelMessage], ModelRequestParameters]:
        if not self._list.pieces:  # a run may have instructions alone
            return self._messages, self._parameters
        packed = self._conversation.pack(self._list.pieces, system=self._system, tools=self._tools)
        parameters = self._parameters
        if packed.system != self._system:  # a secret was taken out of it
            self._list.opening = []
            parameters = replace(parameters, instruction_parts=[InstructionPart(packed.system)])
        return [*self._list.messages(packed.messages), *self._tail], parameters

    def _is_too_long(self, error: Exception) -> bool:
        is_overflow = isinstance(error, ModelContextWindowExceededError)
        return self._conversation.report_error(error, is_overflow=is_overflow)

    def _follow(self, response: ModelResponse) -> None:
        pieces = [*self._list.pieces, *PieceList([response]).pieces]
        self._conversation.follow(pieces, system=self._system, tools=self._tools)
