"""Google's Agent Development Kit as policies: what it sends by itself, and its token-based compaction.

Rule: documented settings; a runner of the library meets every request with its own flow, and the model at the end
of it keeps what it was sent.

Without a setting an app sends the whole history. The compaction has no defaults; its documentation keeps 5 events
and gives no share of a window for the threshold, which is 0.8 of the budget here, by the library's own estimate.
Its summary is a reply of the model and comes first, so that those requests begin with a reply.
"""

import logging
from collections.abc import AsyncIterator, Iterator
from importlib.metadata import version
from typing import Any

from google.adk.agents import Agent
from google.adk.apps import App
from google.adk.apps.app import EventsCompactionConfig
from google.adk.apps.llm_event_summarizer import LlmEventSummarizer
from google.adk.events import Event
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService, Session
from google.genai import types
from pydantic import PrivateAttr

from peers.adapters.event_loop import wait_for
from peers.adapters.serve import Answer, Bill, Message, Packer, serve
from peers.adapters.stand_in import estimate_tokens, summarize

FRACTION = 0.8
RETAINED = 5
VARIANTS = {
    "default": "no setting: the whole history",
    "compaction": f"EventsCompactionConfig(token_threshold={FRACTION} of the budget, "
    f"event_retention_size={RETAINED}), rule-based stand-in for the model",
}
AGENT = "agent"
WHERE = {"app_name": "replay", "user_id": "user", "session_id": "session"}


class Sent(Exception):
    """The request left the library; there is no model to answer it, so the call ends here."""


class Provider(BaseLlm):
    """Where requests end: keeps the last one."""

    model: str = "provider"
    _request: list[types.Content] = PrivateAttr(default_factory=list)

    @property
    def request(self) -> list[types.Content]:
        return self._request

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: ARG002
    ) -> AsyncIterator[LlmResponse]:
        self._request = llm_request.contents
        raise Sent
        yield LlmResponse()


class Summarizer(BaseLlm):
    """Answers a summary prompt by rule, and keeps the bill. It only sees what the library wrote into the prompt."""

    model: str = "stand-in"
    _bills: list[Bill] = PrivateAttr(default_factory=list)

    @property
    def bills(self) -> list[Bill]:
        return self._bills

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: ARG002
    ) -> AsyncIterator[LlmResponse]:
        prompt = "\n".join(part.text for content in llm_request.contents for part in content.parts)
        summary = summarize(list(said_by_user(prompt)), prompt)
        self._bills.append(Bill(estimate_tokens(prompt), estimate_tokens(summary)))
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=summary)]))


class Sessions(InMemorySessionService):
    """Keeps messages and summaries, and not that each run here ends in an exception."""

    async def append_event(self, session: Session, event: Event) -> Event:
        if event.content is None and event.actions.compaction is None:
            return event
        return await super().append_event(session, event)


class Adk:
    """One app on one recording, with or without a plugin."""

    def __init__(self, about: str, *, plugin: BasePlugin | None = None, threshold: int | None = None) -> None:
        self._provider, self._summarizer = Provider(), Summarizer()
        compaction = threshold and EventsCompactionConfig(
            token_threshold=threshold,
            event_retention_size=RETAINED,
            summarizer=LlmEventSummarizer(llm=self._summarizer),
        )
        app = App(
            name=WHERE["app_name"],
            root_agent=Agent(name=AGENT, model=self._provider),
            plugins=[plugin] if plugin else [],
            events_compaction_config=compaction,
        )
        self._sessions = Sessions()
        self._runner = Runner(app=app, session_service=self._sessions)
        wait_for(self._sessions.create_session(**WHERE))
        self._events = 0
        self.about = f"google-adk {version('google-adk')}; {about}"

    def pack(self, new: list[Message], at: float | None) -> Answer:  # noqa: ARG002
        return wait_for(self._pack(new))

    async def _pack(self, new: list[Message]) -> Answer:
        session = await self._sessions.get_session(**WHERE)
        for content in to_adk(new):
            self._events += 1
            said_by_agent = content.role == "model" or any(p.function_response for p in content.parts)
            await self._sessions.append_event(
                session,
                Event(
                    author=AGENT if said_by_agent else "user",
                    content=content,
                    invocation_id="one",
                    # Compactions go by the time, and events come faster here than any clock ticks.
                    timestamp=float(self._events),
                ),
            )
        if not self._events:
            return Answer([])
        self._summarizer.bills.clear()
        where = {"user_id": WHERE["user_id"], "session_id": WHERE["session_id"]}
        try:
            # The flow of the library with its processors and plugins, and no new message of a user.
            async for _ in self._runner.run_async(**where, invocation_id="one"):
                pass
        except Sent:
            return Answer(to_openai(self._provider.request), tuple(self._summarizer.bills))
        raise AssertionError("the run ended without a request")


def said_by_user(prompt: str) -> Iterator[str]:
    """The user's texts in the library's prompt, which begins a text with its author, line by line."""
    is_user = False
    for line in prompt.splitlines():
        if line.startswith((f"{AGENT}: ", f"{AGENT} called tool: ", "Tool response from ", "model: ")):
            is_user = line.startswith("model: ")  # an earlier summary, which holds some
        elif line.startswith("user: "):
            is_user = True
        if is_user:
            yield line.removeprefix("user: ").removeprefix("model: ")


def to_adk(messages: list[Message]) -> list[types.Content]:
    """Results of one round are one content, as the library's own flow writes them."""
    contents: list[types.Content] = []
    for message in messages:
        if message["role"] == "tool":
            response = types.FunctionResponse(
                id=message["tool_call_id"],
                name=message.get("name") or "unknown",
                response={"result": message["content"]},
            )
            part = types.Part(function_response=response)
            if contents and contents[-1].parts[0].function_response:
                contents[-1].parts.append(part)
            else:
                contents.append(types.Content(role="user", parts=[part]))
            continue
        parts = [types.Part(text=message["content"])] if message.get("content") else []
        for call in message.get("tool_calls") or ():
            function = types.FunctionCall(id=call["id"], name=call["name"], args=call["arguments"])
            parts.append(types.Part(function_call=function))
        role = "model" if message["role"] == "assistant" else "user"
        if parts:
            contents.append(types.Content(role=role, parts=parts))
    return contents


def to_openai(contents: list[types.Content]) -> list[Message]:
    sent: list[Message] = []
    for content in contents:
        texts = [part.text for part in content.parts if part.text]
        calls = [part.function_call for part in content.parts if part.function_call]
        for part in content.parts:
            if returned := part.function_response:
                answer: dict[str, Any] = returned.response
                text = next(iter(answer.values()))
                sent.append(
                    {"role": "tool", "tool_call_id": returned.id, "name": returned.name, "content": text}
                )
        if texts or calls:
            role = "assistant" if content.role == "model" else "user"
            sent.append({"role": role, "content": "\n".join(texts)})
        if calls:
            sent[-1]["tool_calls"] = [
                {"id": call.id, "name": call.name, "arguments": call.args} for call in calls
            ]
    return sent


def start(variant: str, budget: int) -> Packer:
    if variant not in VARIANTS:
        raise ValueError(f"there is no variant `{variant}`")
    threshold = int(FRACTION * budget) if variant == "compaction" else None
    return Adk(VARIANTS[variant], threshold=threshold)


# Every request ends in an exception, which the library would report each time.
logging.getLogger("google_adk").setLevel(logging.CRITICAL)

if __name__ == "__main__":
    serve(start)
