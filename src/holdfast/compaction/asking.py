"""Asking a model for a summary, once: what came of it.

Rule: nothing that a model does stops an agent: what is no answer is a reason in a sentence, with its bill.
"""

import asyncio

from msgspec import Struct
from msgspec.structs import replace

from holdfast.messages import Text, Usage, UserMessage
from holdfast.models.errors import ModelError
from holdfast.models.protocol import Model, Reply, Request, ask
from holdfast.packing.renditions.marks import one_line

LONGEST_WHY = 200


class Attempt(Struct, frozen=True):
    """What came of asking once: a text, or why there is none that can be used."""

    text: str = ""
    why: str = ""
    usage: Usage | None = None


async def ask_once(model: Model, request: Request, timeout: float) -> Attempt:  # noqa: ASYNC109 - the setting's name
    try:
        async with asyncio.timeout(timeout):
            reply = await ask(model, request)
    except TimeoutError:
        return Attempt(why=f"no answer within {timeout:g} s")
    except ModelError as error:
        return Attempt(why=error.message, usage=error.usage)
    except AssertionError:
        raise
    except Exception as error:  # A model that is not ours may raise anything, and stops no agent.
        return Attempt(why=one_line(f"{type(error).__name__}: {error}")[:LONGEST_WHY])
    return _read(reply)


def _read(reply: Reply) -> Attempt:
    why = ""
    if reply.stop == "refused":
        why = "the model refused"
    elif reply.stop == "length":
        why = "the answer was cut off"
    elif not reply.text.strip():
        why = "the answer was empty"
    return Attempt("" if why else reply.text, why, reply.usage)


def with_reason(request: Request, why: str) -> Request:
    """The same again, and why the answer to it could not be used: the same words would have the same answer."""
    *before, asked = request.messages
    assert isinstance(asked, UserMessage), "a request for a summary ends with the prompt"
    reason = Text(f"An answer before could not be used: {why}. Write all of it again, with every key.")
    return replace(request, messages=(*before, UserMessage((*asked.parts, reason))))
