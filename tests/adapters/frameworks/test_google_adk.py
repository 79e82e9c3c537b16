"""The plugin in apps of Google's ADK, with a model that follows a script."""

import asyncio
import json
import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from google.adk.agents import Agent, RunConfig
from google.adk.agents.run_config import StreamingMode
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools import google_search
from google.adk.workflow import START, JoinNode, Workflow
from google.genai import errors, types
from pydantic import BaseModel, PrivateAttr

from holdfast.adapters.genai_contents import ContentTranslation, join_contents
from holdfast.adapters.google_adk import HoldfastPlugin
from holdfast.events import AssistantReplied, Folded, OverflowReported, Rewound, ToolReturned
from holdfast.messages import AssistantMessage, Text, ToolMessage, Usage, UserMessage

EXAMPLE = Path(__file__).parents[3] / "examples" / "adapters" / "google_adk_agent.py"
USAGE = {"promptTokenCount": 100, "candidatesTokenCount": 5, "cachedContentTokenCount": 40}
Calls = list[tuple[str, dict]]
TOO_LONG = errors.ClientError(
    400,
    {
        "error": {
            "code": 400,
            "message": "The input token count (90001) exceeds the maximum number of tokens allowed (90000).",
        }
    },
)


class ScriptedLlm(BaseLlm):
    """Does what the script says, request by request: calls, a text, or an error. Keeps what it was sent."""

    model: str = "scripted"
    _script: list = PrivateAttr()
    _requests: list[list[types.Content]] = PrivateAttr(default_factory=list)
    _configs: list[types.GenerateContentConfig] = PrivateAttr(default_factory=list)

    def __init__(self, *script: Calls | str | Exception) -> None:
        super().__init__()
        self._script = list(script)

    @property
    def requests(self) -> list[list[types.Content]]:
        return self._requests

    @property
    def configs(self) -> list[types.GenerateContentConfig]:
        return self._configs

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False):
        self._requests.append(list(llm_request.contents))
        self._configs.append(llm_request.config.model_copy(deep=True))
        step = self._script[len(self._requests) - 1]
        await asyncio.sleep(0)
        if isinstance(step, Exception):
            raise step
        usage = types.GenerateContentResponseUsageMetadata.model_validate(USAGE)
        content = types.Content(role="model", parts=parts(step))
        if stream:
            yield LlmResponse(content=content, partial=True, usage_metadata=usage)
        yield LlmResponse(content=content, usage_metadata=usage, model_version="scripted-1")


def parts(step: Calls | str) -> list[types.Part]:
    thought = types.Part(text="Let me see.", thought=True)
    if isinstance(step, str):
        return [thought, *([types.Part(text=step, thought_signature=b"\xff\xfe")] if step else [])]
    calls = [types.Part(function_call=types.FunctionCall(name=name, args=args)) for name, args in step]
    calls[0].thought_signature = b"\xff\xfe\xfb"
    return [thought, types.Part(text="I look it up."), *calls]


def read(part: int) -> str:
    """Read a part."""
    return " ".join(f"value_{part}_{word}" for word in range(100))


def book() -> str:
    """Read a book."""
    return " ".join(f"word_{word}" for word in range(3_000))


async def wait(turns: int) -> dict:
    """Wait for a while."""
    await asyncio.sleep(turns / 1000)
    return {"waited": turns, "for": ["nothing"]}


def reads(count: int, start: int = 0) -> list[Calls]:
    return [[("read", {"part": number})] for number in range(start, start + count)]


class Team:
    """An app with one agent, and what a test asks of it."""

    def __init__(
        self, *script: Any, sessions: Any = None, plugin: HoldfastPlugin | None = None, **agent: Any
    ) -> None:
        self.model = ScriptedLlm(*script)
        self.plugin = plugin or HoldfastPlugin("16k")
        more = agent.pop("plugins", [])
        root = agent.pop("root", None) or Agent(
            name="reader", model=self.model, **{"tools": [read, wait, book], **agent}
        )
        app = App(name="app", root_agent=root, plugins=[self.plugin, *more])
        self.sessions = sessions or InMemorySessionService()
        self.runner = Runner(app=app, session_service=self.sessions, auto_create_session=True)

    async def ask_async(self, text: str, session: str = "one", **settings: Any) -> str:
        said = ""
        message = types.UserContent(text)
        async for event in self.runner.run_async(
            user_id="me", session_id=session, new_message=message, **settings
        ):
            if event.is_final_response() and event.content:
                said = event.content.parts[-1].text
        return said

    def ask(self, text: str, session: str = "one", **settings: Any) -> str:
        return asyncio.run(self.ask_async(text, session, **settings))

    def session(self, name: str = "one") -> Any:
        return asyncio.run(self.sessions.get_session(app_name="app", user_id="me", session_id=name))

    def events(
        self, kind: type, session: str = "one", agent: str = "reader", branch: str | None = None
    ) -> list:
        log = self.plugin.conversation(self.session(session), agent, branch).session.log
        return [entry.event for entry in log.entries() if isinstance(entry.event, kind)]


def dumped(contents: list[types.Content]) -> str:
    return json.dumps([content.model_dump(mode="json", exclude_none=True) for content in contents])


def check_request(contents: list[types.Content]) -> None:
    """It begins with the user, and each reply's calls are answered by the very next content."""
    assert contents[0].role == "user"
    for said, answer in pairwise(contents):
        called = [part.function_call.name for part in said.parts if part.function_call]
        assert called == [part.function_response.name for part in answer.parts if part.function_response]
    assert len(dumped(contents)) < 16_000 * 4


def test_a_long_run_is_folded_and_the_session_keeps_everything() -> None:
    script = [*reads(50), [("Recall", {"query": "value_3_7"})], "Done."]
    team = Team(*script, instruction="Be brief.")
    assert team.ask("Read every part.") == "Done."
    for request in team.model.requests:
        check_request(request)
    assert len(team.session().events) == 104
    assert len(team.model.requests[-1]) < 60
    assert all("Be brief." in config.system_instruction for config in team.model.configs)
    (tool,) = team.model.configs[-1].tools
    assert [function.name for function in tool.function_declarations] == ["read", "wait", "book", "Recall"]
    assert team.events(Folded)
    assert not team.events(Rewound)
    answer = team.model.requests[-1][-1].parts[0].function_response.response["result"]
    assert "value_3_7" in answer
    # What is sent as it was is what the session has, signatures included.
    whole = [event.content for event in team.session().events]
    assert dumped(without_ids(team.model.requests[-1][-4:])) == dumped(without_ids(whole[-5:-1]))
    assert team.model.requests[-1][-2].parts[2].thought_signature == b"\xff\xfe\xfb"


def without_ids(contents: list[types.Content]) -> list[types.Content]:
    """ADK itself gives calls ids, and leaves them out of what it sends to Gemini."""
    copies = [content.model_copy(deep=True) for content in contents]
    for part in (part for content in copies for part in content.parts):
        for one in filter(None, (part.function_call, part.function_response)):
            one.id = None
    return copies


def test_usage_is_recorded_with_each_reply_and_also_the_last() -> None:
    team = Team(*reads(2), "Done.")
    team.ask("Go.")
    replies = team.events(AssistantReplied)
    assert [reply.usage for reply in replies] == [Usage(100, 5, cache_read=40)] * 3
    assert {reply.model for reply in replies} == {"scripted-1"}


def test_a_streamed_run_is_recorded_the_same() -> None:
    team = Team(*reads(2), "Done.", "Done again.")
    team.ask("Go.", run_config=RunConfig(streaming_mode=StreamingMode.SSE))
    team.ask("Again.")
    assert [reply.usage for reply in team.events(AssistantReplied)] == [Usage(100, 5, cache_read=40)] * 4
    assert not team.events(Rewound)


def test_an_overflow_is_answered_by_one_smaller_request() -> None:
    team = Team(*reads(8), TOO_LONG, "Done.", "Hello.")
    assert team.ask("Go.") == "Done."
    refused, sent = team.model.requests[-2:]
    assert len(dumped(sent)) < 0.8 * len(dumped(refused))
    check_request(sent)
    assert [report.limit for report in team.events(OverflowReported)] == [90_000]
    assert len(team.events(AssistantReplied)) == 9
    assert len(team.session().events) == 18
    assert team.ask("Hello.") == "Hello."


def test_the_second_overflow_in_a_row_is_raised() -> None:
    team = Team(*reads(8), TOO_LONG, TOO_LONG, "Done.")
    with pytest.raises(errors.ClientError):
        team.ask("Go.")
    assert len(team.model.requests) == 10
    assert len(team.events(OverflowReported)) == 2
    assert team.ask("Go on.") == "Done."


def test_a_limit_of_calls_holds_for_the_second_try_too() -> None:
    team = Team(*reads(8), TOO_LONG, "Done.")
    with pytest.raises(errors.ClientError):
        team.ask("Go.", run_config=RunConfig(max_llm_calls=9))
    assert len(team.model.requests) == 9


def test_a_reply_of_thoughts_only_is_not_recorded() -> None:
    team = Team("", "Done.")
    team.ask("Go.")
    assert team.ask("Go on.") == "Done."
    assert len(team.events(AssistantReplied)) == 1
    assert not team.events(Rewound)


def test_where_the_provider_keeps_the_conversation_nothing_is_packed() -> None:
    class Interactions(BasePlugin):
        async def before_model_callback(self, *, llm_request, **_: object) -> None:
            llm_request.previous_interaction_id = "i1"

    team = Team(*reads(1), "Done.")
    team.runner.plugin_manager.plugins.insert(0, Interactions("interactions"))
    team.ask("Go.")
    assert not team.events(AssistantReplied)


def test_other_errors_are_raised_as_they_are() -> None:
    team = Team(*reads(2), ValueError("broken"), "Done.")
    with pytest.raises(ValueError, match="broken"):
        team.ask("Go.")
    assert len(team.model.requests) == 3
    assert team.ask("Go on.") == "Done."
    assert not team.events(Rewound)


def test_results_of_parallel_calls_stay_with_them() -> None:
    calls = [("wait", {"turns": 30}), ("read", {"part": 1}), ("wait", {"turns": 1}), ("read", {"part": 2})]
    team = Team(calls, "Done.")
    team.ask("Go.")
    check_request(team.model.requests[-1])
    assert len(team.model.requests[-1]) == 3
    returned = team.model.requests[-1][-1].parts
    assert [part.function_response.response.get("waited") for part in returned] == [30, None, 1, None]
    assert [one.name for one in team.events(ToolReturned)] == ["wait", "read", "wait", "read"]


def test_of_parallel_results_one_is_shortened() -> None:
    team = Team([("read", {"part": 1}), ("book", {}), ("read", {"part": 2})], "Done.")
    team.ask("Go.")
    check_request(team.model.requests[-1])
    assert len(team.model.requests[-1]) == 3
    assert "word_1500" not in dumped(team.model.requests[-1])


def lasting(tmp_path, *script: Any) -> Team:
    sessions = SqliteSessionService(str(tmp_path / "sessions.db"))
    return Team(*script, sessions=sessions, plugin=HoldfastPlugin("16k", store=tmp_path / "store.db"))


def test_a_second_process_continues_with_the_same_bytes(tmp_path) -> None:
    first = lasting(tmp_path, *reads(40), "Done.", ValueError("no network"))
    first.ask("Go.")
    with pytest.raises(ValueError, match="no network"):
        first.ask("Go on.")
    before = len(first.events(object))
    again = lasting(tmp_path, "Done again.")

    async def go_on() -> None:
        # Nothing new is said: the model is asked what it could not answer.
        session = await again.sessions.get_session(app_name="app", user_id="me", session_id="one")
        invocation = session.events[-1].invocation_id
        async for _ in again.runner.run_async(user_id="me", session_id="one", invocation_id=invocation):
            pass

    asyncio.run(go_on())
    assert dumped(again.model.requests[0]) == dumped(first.model.requests[-1])
    assert len(again.events(object)) == before + 1, "the new reply, and nothing twice"
    assert not again.events(Rewound)


def test_sessions_are_kept_apart(tmp_path) -> None:
    team = lasting(tmp_path, "Noted.", [("Recall", {"query": "port"})], "I do not know.")
    team.ask("The port is 8123.")
    team.ask("Which port?", "two")
    assert "8123" not in dumped(team.model.requests[-1])
    assert [len(team.events(AssistantReplied, name)) for name in ("one", "two")] == [1, 2]


def test_agents_of_one_app_run_at_once_each_with_its_own_conversation() -> None:
    models = [
        ScriptedLlm(*reads(40, start), [("Recall", {"query": "value"})], "Done.") for start in (0, 100, 200)
    ]
    agents = [Agent(name=f"agent{at}", model=model, tools=[read]) for at, model in enumerate(models)]
    end = JoinNode(name="end")
    edges = [edge for agent in agents for edge in ((START, agent), (agent, end))]
    team = Team(root=Workflow(name="all", edges=edges))
    team.ask("Go.")
    for at, model in enumerate(models):
        assert len(model.requests) == 42
        check_request(model.requests[-1])
        others = {0, 100, 200} - {100 * at}
        assert not any(f"value_{other}_" in dumped(model.requests[-1]) for other in others)
        assert team.events(Folded, agent=f"agent{at}", branch=f"agent{at}@1")


def test_an_agent_that_hands_over_and_the_one_that_takes_over() -> None:
    second = ScriptedLlm(*reads(2), "Hello from the second.", "Still here.")
    helper = Agent(name="helper", description="Helps.", model=second, tools=[read])
    team = Team([("transfer_to_agent", {"agent_name": "helper"})], sub_agents=[helper])
    assert team.ask("Help me.") == "Hello from the second."
    assert team.ask("And now?") == "Still here."
    assert not team.events(Rewound)
    assert not team.events(Rewound, agent="helper")
    assert len(team.events(AssistantReplied, agent="helper")) == 4
    assert not team.events(AssistantReplied)


def test_what_is_added_for_one_request_is_not_recorded() -> None:
    team = Team(*reads(40), "Done.", "Done again.", static_instruction="You read.", instruction="It is noon.")
    passing = [types.UserContent("The weather is fine.")]
    team.ask("Go.", run_config=RunConfig(model_input_context=passing))
    team.ask("Again.")
    assert all(dumped(request).count("It is noon.") == 1 for request in team.model.requests)
    assert [dumped(r).count("The weather is fine.") for r in team.model.requests] == [1] * 41 + [0]
    assert team.model.requests[-1][-1].parts[0].text == "Again."
    assert team.events(Folded)
    assert not team.events(Rewound)
    for request in team.model.requests:
        check_request(request)


class Port(BaseModel):
    number: int


@pytest.mark.parametrize("settings", [{"tools": [google_search]}, {"tools": [], "output_schema": Port}])
def test_recall_is_not_added_where_a_model_may_not_take_a_function(settings) -> None:
    team = Team('{"number": 1}', **settings)
    team.model.model = "gemini-2.5-flash"
    team.ask("Go.")
    declared = [tool.function_declarations for tool in team.model.configs[0].tools or ()]
    assert not any(declared)


def test_a_tool_of_the_same_name_is_refused_in_a_sentence() -> None:
    def Recall(word: str) -> str:  # noqa: N802 - the name is the point
        """Remember."""
        return word

    with pytest.raises(RuntimeError, match="`Recall` is taken"):
        Team("Done.", tools=[Recall]).ask("Go.")
    plugin = HoldfastPlugin("16k")
    team = Team("Done.", tools=[plugin.recall_tool], plugin=plugin)
    assert team.ask("Go.") == "Done."


def test_what_is_no_content_is_named_by_its_place() -> None:
    class Breaking(BasePlugin):
        async def before_model_callback(self, *, llm_request, **_: object) -> None:
            llm_request.contents.append("Hello.")

    team = Team("Done.")
    team.runner.plugin_manager.plugins.insert(0, Breaking("breaking"))
    with pytest.raises(RuntimeError, match="message 1 is a `str`, not a `Content`"):
        team.ask("Go.")


def test_what_cannot_fit_is_said_in_a_sentence() -> None:
    team = Team("Done.", plugin=HoldfastPlugin("4k"), instruction="word " * 9_000)
    with pytest.raises(RuntimeError, match="system"):
        team.ask("Go.")


PICTURE = types.Part(inline_data=types.Blob(data=b"\xff\xfe\xfb", mime_type="image/png"))
PAPER = types.Part(inline_data=types.Blob(data=b"%PDF", mime_type="application/pdf", display_name="plan"))
CODE = types.Part(
    executable_code=types.ExecutableCode(code="1 + 1", language="PYTHON"), thought_signature=b"\xff"
)


def test_pictures_papers_and_code_go_back_as_they_came() -> None:
    plugin = HoldfastPlugin("16k")
    given = [
        types.Content(role="user", parts=[PICTURE, PAPER]),
        types.Content(role="model", parts=[CODE]),
        types.Content(role="user", parts=[PAPER]),
        types.Content(role="model", parts=[PICTURE]),
        types.Content(role="user", parts=[types.Part(text="Go on.")]),
    ]
    packed = plugin.conversations.get("a").pack(given)
    assert all(one is other for one, other in zip(packed.messages, given, strict=True))


def test_what_is_written_anew_says_the_same() -> None:
    translation = ContentTranslation()
    call = types.Part(
        function_call=types.FunctionCall(id="c", name="read", args={"part": 1}),
        thought_signature=b"\xff\xfe\xfb",
    )
    reply = types.Content(role="model", parts=[types.Part(text="I read."), call])
    ((_, (said,)),) = translation.read([reply])
    assert translation.write(AssistantMessage(said.parts)) == [reply]
    ((_, (ran,)),) = translation.read([types.Content(role="model", parts=[CODE])])
    (written,) = translation.write(AssistantMessage(ran.parts))
    assert (written.parts[0].text, written.parts[0].thought_signature) == ("1 + 1", b"\xff")
    picture = types.Content(role="user", parts=[PICTURE])
    ((_, (asked,)),) = translation.read([picture])
    assert translation.write(UserMessage(asked.parts)) == [picture]
    results = [ToolMessage(name, "read", (Text("No."),), error=True) for name in ("c", "d")]
    (joined,) = join_contents([content for one in results for content in translation.write(one)])
    assert [part.function_response.response for part in joined.parts] == [{"error": "No."}] * 2


def test_the_example_runs_as_it_is(tmp_path) -> None:
    (tmp_path / "notes.txt").write_text("The port is 8123.")
    script = [[("read_file", {"path": "notes.txt"})], "It is 8123.", "As I said, 8123."]
    asked: list[dict] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            content = types.Content(role="model", parts=parts(script[len(asked) - 1]))
            candidate = {"content": content.model_dump(mode="json", by_alias=True, exclude_none=True)}
            body = json.dumps(
                {"candidates": [{**candidate, "finishReason": "STOP"}], "usageMetadata": USAGE}
            ).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    environment = {
        **os.environ,
        "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{server.server_port}",
        "GEMINI_API_KEY": "a key for loopback",
        "NO_PROXY": "127.0.0.1",
    }
    said = []
    for question in ("Which port?", "Sure?"):
        command = [sys.executable, str(EXAMPLE), question]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        said.append(done.stdout.strip())
    server.shutdown()
    server.server_close()
    assert said == ["It is 8123.", "As I said, 8123."]
    assert "The port is 8123." in json.dumps(asked[-1]["contents"]), "the second run has the first"
    names = [function["name"] for tool in asked[0]["tools"] for function in tool["functionDeclarations"]]
    assert names == ["read_file", "Recall"]
