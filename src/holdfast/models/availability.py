"""Who answers: providers are asked for their list of models, all at once and not for long.

Rule: nothing is asked that costs money, and no failure is more than a sentence.
"""

import asyncio
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct, field

from holdfast.errors import HoldfastError
from holdfast.messages import Json
from holdfast.models.selection import ResolvedModel, create_adapter
from holdfast.models.transport import Endpoint, EndpointClient, Timeouts

SECONDS = 5.0
_LONGEST = 8 * 1024 * 1024
_SHUT = (401, 403)
_LISTS = {"messages": "/v1/models?limit=1000"}
_LIST = "/models"
_WINDOWS = ("max_model_len", "context_length", "max_input_tokens")
"""What vLLM, OpenRouter and Anthropic call the window of a model in their lists."""


class Availability(Struct, frozen=True):
    """What came of asking. `served` are the models a server names, each with its window, 0 where it does not say;
    it is empty for a server that answers and has no list."""

    served: dict[str, int] = field(default_factory=dict)
    problem: str = ""

    @property
    def is_reached(self) -> bool:
        return not self.problem


def check_availability(
    chosen: Sequence[ResolvedModel], env: Mapping[str, str], seconds: float = SECONDS
) -> dict[tuple[str, str], Availability]:
    """Ask every address among them once, with its key; by address and the variable of the key."""
    places = {(one.url, one.key): one for one in chosen}
    return asyncio.run(_reach(places, env, seconds))


async def _reach(
    places: Mapping[tuple[str, str], ResolvedModel], env: Mapping[str, str], seconds: float
) -> dict[tuple[str, str], Availability]:
    found = await asyncio.gather(*(_ask(one, env.get(one.key, ""), seconds) for one in places.values()))
    return dict(zip(places, found, strict=True))


async def _ask(chosen: ResolvedModel, key: str, seconds: float) -> Availability:
    limits = Timeouts(connect=seconds, first_token=seconds, idle=seconds, stalled=seconds)
    try:
        line = EndpointClient(Endpoint(url=chosen.url, key=key.strip(), timeouts=limits))
    except HoldfastError as error:
        return Availability(problem=error.message)
    path = _LISTS.get(chosen.entry.protocol, _LIST)
    try:
        async with (
            asyncio.timeout(seconds),
            line.open(path, create_adapter(chosen).headers(key.strip())) as answer,
        ):
            if answer.status in _SHUT:
                return Availability(problem=_locked(chosen, key))
            return _read(answer.status, await answer.read(_LONGEST))
    except TimeoutError:
        return Availability(problem=f"`{line.endpoint.host}` did not answer within {seconds:g} s")
    except HoldfastError as error:
        return Availability(problem=line.endpoint.clean(error.message))
    finally:
        await line.aclose()


def _locked(chosen: ResolvedModel, key: str) -> str:
    if key.strip():
        return f"the key in `{chosen.key}` was refused"
    return f"it wants a key: set `{chosen.key}`" if chosen.key else "it wants a key"


def _read(status: int, body: bytes) -> Availability:
    if status in (404, 405):  # It speaks, but keeps no list.
        return Availability()
    if status != 200:
        return Availability(problem=f"it answered with status {status}")
    try:
        listed = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Availability(problem="it answered with something else than a list of models")
    items = listed.get("data") if isinstance(listed, dict) else listed
    rows = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    # Google's names stand behind `models/` in the list, and nowhere else.
    return Availability({str(row.get("id", "")).removeprefix("models/"): _window(row) for row in rows})


def _window(row: dict[str, Json]) -> int:
    meta = row.get("meta")
    values = [row.get(name) for name in _WINDOWS]
    values.append(meta.get("n_ctx") if isinstance(meta, dict) else None)
    return next((v for v in values if isinstance(v, int) and not isinstance(v, bool) and v > 0), 0)
