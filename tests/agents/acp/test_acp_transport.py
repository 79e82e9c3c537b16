"""Lines of JSON between an editor and the agent, on a real pair of sockets."""

import asyncio
import json
import socket

import pytest

from holdfast.agents.acp.transport import StdioTransport

HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}


def exchanged(sent, *, limit=65_536):
    """What is received of these bytes, and what is answered."""

    async def work():
        ours, theirs = socket.socketpair()
        transport = StdioTransport(*await asyncio.open_connection(sock=ours, limit=limit))
        reader, writer = await asyncio.open_connection(sock=theirs)
        writer.write(sent)
        writer.write_eof()
        received = []
        while (message := await transport.receive()) is not None:
            received.append(message)
        await transport.close()
        answers = [json.loads(line) for line in (await reader.read()).splitlines()]
        writer.close()
        return received, answers

    return asyncio.run(work())


def line(message):
    return json.dumps(message).encode() + b"\n"


@pytest.mark.parametrize(
    "nonsense",
    [
        b"{",
        b"\xff\xfe",
        b"NaN NaN",
        b"[" * 100_000,
        b"1",
        b"[]",
        b'"text"',
        b"{}",
        b'{"id": 1}',
        b'{"method": []}',
    ],
    ids=lambda bad: bad[:12].decode("latin-1"),
)
def test_nonsense_is_answered_and_what_follows_is_read(nonsense):
    received, [answer] = exchanged(nonsense + b"\n\n  \n" + line(HELLO), limit=200_000)
    assert received == [HELLO]
    assert answer["error"]["code"] in (-32700, -32600)


def test_a_last_line_without_its_end_is_read():
    assert exchanged(line(HELLO).rstrip()) == ([HELLO], [])


def test_answers_are_messages_too():
    answers = [{"jsonrpc": "2.0", "id": 1, "result": None}, {"jsonrpc": "2.0", "id": 2, "error": {"code": 1}}]
    assert exchanged(b"".join(map(line, answers))) == (answers, [])


def test_half_of_a_character_is_replaced():
    [message], _ = exchanged(b'{"method": "m", "params": {"text": "a\\uD800b"}}\n')
    assert message["params"]["text"] == "a?b"


def test_a_message_without_end_ends_the_connection():
    received, [answer] = exchanged(line(HELLO) + b"x" * 5_000, limit=1_000)
    assert received == [HELLO]
    assert "more than" in answer["error"]["message"]


def test_an_editor_that_reads_no_longer_is_gone():
    async def work():
        ours, theirs = socket.socketpair()
        transport = StdioTransport(*await asyncio.open_connection(sock=ours))
        theirs.close()
        for _ in range(20):
            await transport.send({"text": "x" * 100_000})
        return await transport.receive()

    assert asyncio.run(work()) is None
