"""How long an answer is waited for, and how fast a wait ends when nobody waits any more."""

import asyncio
import subprocess
import sys
import time

import pytest

from holdfast.messages import Text
from holdfast.models.errors import TimedOut
from holdfast.models.transport import (
    Endpoint,
    EndpointClient,
    StreamedResponse,
    Timeouts,
    encode_body,
)
from support.provider_server import Pause, ProviderServer, Script, Stall, events_of, serving

PATH = "/v1/messages"
BODY = encode_body({"model": "test", "stream": True})


def endpoint(server: ProviderServer, **timeouts: float) -> Endpoint:
    return Endpoint(url=server.url, timeouts=Timeouts(**timeouts))


async def whole(answer: StreamedResponse) -> int:
    """How many events there are; deltas are tokens."""
    count = 0
    while (some := await answer.next_events()) is not None:
        count += len(some)
        if any(event.name == "content_block_delta" for event in some):
            answer.token_arrived()
    return count


async def post(client: EndpointClient, path: str = PATH) -> int:
    async with client.open(path, {}, BODY) as answer:
        return await whole(answer)


def post_once(where: Endpoint, path: str = PATH) -> int:
    async def run() -> int:
        client = EndpointClient(where)
        try:
            return await post(client, path)
        finally:
            await client.aclose()

    return asyncio.run(run())


@pytest.mark.parametrize(
    "answer",
    [Stall(), Script(pauses=(Pause(before=0),)), Script(pauses=(Pause(before=2),))],
    ids=["no-status", "no-event", "only-message-start"],
)
def test_a_first_token_that_does_not_come(answer):
    with serving(answer) as server:
        with pytest.raises(TimedOut, match=r"sent nothing for 0\.05 s"):
            post_once(endpoint(server, first_token=0.05))
        assert server.hung_up()


def test_a_token_that_does_not_come_in_the_middle():
    with serving(Script(pauses=(Pause(before=5),))) as server:
        with pytest.raises(TimedOut, match=r"sent nothing for 0\.06 s"):
            post_once(endpoint(server, idle=0.06))
        assert server.hung_up()


@pytest.mark.parametrize("before", [1, 5], ids=["first-token", "mid-stream"])
@pytest.mark.parametrize("path", ["/v1/messages", "/v1/chat/completions"], ids=["ping-event", "comment"])
def test_pings_say_that_the_line_is_alive(before, path):
    script = Script(pauses=(Pause(before=before, seconds=0.8, ping_every=0.02),))
    with serving(script) as server:
        count = post_once(endpoint(server, first_token=0.5, idle=0.5), path)
    pings = 50 if path == PATH else 0
    wanted = len(events_of(path, script)) - (path != PATH)  # No usage was asked for, so none is sent.
    assert wanted <= count <= wanted + pings


@pytest.mark.parametrize("before", [1, 5], ids=["first-token", "mid-stream"])
def test_nothing_but_pings_is_no_reply(before):
    with serving(Script(pauses=(Pause(before=before, ping_every=0.01),))) as server:
        with pytest.raises(TimedOut, match=r"sent no token for 0\.2 s"):
            post_once(endpoint(server, stalled=0.2))
        assert server.hung_up()


def test_a_reply_may_take_as_long_as_it_likes_while_tokens_come():
    script = Script(
        parts=(Text("slow and steady"),),
        piece=1,
        pauses=tuple(Pause(before=n, seconds=0.1) for n in range(3, 15)),
    )
    with serving(script) as server:
        assert post_once(endpoint(server, stalled=0.7)) == len(events_of(PATH, script))


def test_the_time_a_reader_takes_is_not_the_providers():
    async def run(where: Endpoint) -> int:
        client = EndpointClient(where)
        count = 0
        async with client.open(PATH, {}, BODY) as answer:
            while (some := await answer.next_events()) is not None:
                if not count:
                    # Nothing is awaited here, so that nothing is read meanwhile either.
                    time.sleep(0.5)  # noqa: ASYNC251
                count += len(some)
        await client.aclose()
        return count

    script = Script(pauses=(Pause(before=2, seconds=0.02),))
    with serving(script) as server:
        count = asyncio.run(run(endpoint(server, first_token=0.4, idle=0.4, stalled=0.4)))
    assert count == len(events_of(PATH, script))


def test_cancelling_closes_the_connection_at_once():
    async def run(where: Endpoint, server: ProviderServer) -> bool:
        client = EndpointClient(where)
        task = asyncio.create_task(post(client))
        await asyncio.to_thread(server.asked)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        # The loop stands still meanwhile: nothing is left to be done in it.
        left = server.hung_up()
        await client.aclose()
        return left

    with serving(Script(pauses=(Pause(before=3),))) as server:
        assert asyncio.run(run(endpoint(server), server))


def test_leaving_early_closes_the_connection():
    async def run(where: Endpoint, server: ProviderServer) -> bool:
        client = EndpointClient(where)
        async with client.open(PATH, {}, BODY) as answer:
            await answer.next_events()
        left = server.hung_up()
        await client.aclose()
        return left

    with serving(Script(pauses=(Pause(before=3),))) as server:
        assert asyncio.run(run(endpoint(server), server))


@pytest.mark.slow
def test_a_hung_call_does_not_keep_a_program_from_ending():
    code = """if True:
        import asyncio, sys
        from holdfast.models.transport import Endpoint, EndpointClient

        async def main():
            client = EndpointClient(Endpoint(url=sys.argv[1]))
            async def hang():
                async with client.open("/v1/messages", {}, b'{"model": "test", "stream": true}') as answer:
                    while await answer.next_events() is not None:
                        print("heard", flush=True)
            task = asyncio.create_task(hang())
            await asyncio.sleep(0.2)
            raise KeyboardInterrupt

        try:
            asyncio.run(main())
        except KeyboardInterrupt:
            print("left")
    """
    with serving(Script(pauses=(Pause(before=2),))) as server:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", code, server.url],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
    assert done.stdout.splitlines()[-1] == "left"
    assert done.stderr == ""


def test_what_comes_after_the_reply_is_not_waited_for():
    async def run(where: Endpoint) -> None:
        client = EndpointClient(where)
        async with client.open(PATH, {}, BODY) as answer:
            await answer.next_events()
            await answer.finish()
        await client.aclose()

    for script in (Script(pauses=(Pause(before=3),)), Script(drop=3)):
        with serving(script) as server:
            asyncio.run(run(endpoint(server)))
