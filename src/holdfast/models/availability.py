"""Which models can be used: every provider is asked for its list of models, all at once and with a short timeout.

Rule: no request costs money, and every failure is one sentence.
"""

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec
from msgspec import Struct, field

from holdfast.errors import HoldfastError
from holdfast.messages import Json
from holdfast.models.selection import ResolvedModel, create_adapter
from holdfast.models.transport import Endpoint, EndpointClient, Timeouts

SECONDS = 5.0
_LONGEST = 8 * 1024 * 1024
_WINDOWS = ("max_model_len", "context_length", "max_input_tokens")
"""The names of a model's window in the lists of vLLM, OpenRouter and Anthropic."""


class Availability(Struct, frozen=True):
    """The result of asking one provider. `served` are the models it names, each with its window, 0 where it does
    not say; it is empty for a server that answers and has no list. `problem` says why it cannot be used."""

    served: dict[str, int] = field(default_factory=dict)
    problem: str = ""

    @property
    def is_available(self) -> bool:
        return not self.problem


def check_availability(
    models: Sequence[ResolvedModel], env: Mapping[str, str], seconds: float = SECONDS
) -> dict[tuple[str, str], Availability]:
    """Ask every address once, with its key. The result is by address and the variable of the key."""
    endpoints = {(model.url, model.key): model for model in models}

    async def ask_all() -> list[Availability]:
        return await asyncio.gather(*(_ask(one, env.get(one.key, ""), seconds) for one in endpoints.values()))

    # In a thread, which has no event loop: an agent may be made inside a coroutine.
    with ThreadPoolExecutor(1) as executor:
        answers = executor.submit(lambda: asyncio.run(ask_all())).result()
    return dict(zip(endpoints, answers, strict=True))


async def _ask(model: ResolvedModel, key: str, seconds: float) -> Availability:
    limits = Timeouts(connect=seconds, first_token=seconds, idle=seconds, stalled=seconds)
    try:
        client = EndpointClient(Endpoint(url=model.url, key=key.strip(), timeouts=limits))
    except HoldfastError as error:
        return Availability(problem=error.message)
    path = "/v1/models?limit=1000" if model.entry.protocol == "messages" else "/models"
    try:
        async with (
            asyncio.timeout(seconds),
            client.open(path, create_adapter(model).headers(key.strip())) as answer,
        ):
            if answer.status in (401, 403):
                if key.strip():
                    return Availability(problem=f"the key in `{model.key}` was refused")
                return Availability(problem="it needs a key" + (f": set `{model.key}`" if model.key else ""))
            return _read(answer.status, await answer.read(_LONGEST))
    except TimeoutError:
        return Availability(problem=f"`{client.endpoint.host}` did not answer within {seconds:g} s")
    except HoldfastError as error:
        return Availability(problem=client.endpoint.clean(error.message))
    finally:
        await client.aclose()


def _read(status: int, body: bytes) -> Availability:
    if status in (404, 405):  # It answers, but has no list.
        return Availability()
    if status != 200:
        return Availability(problem=f"it answered with status {status}")
    try:
        listed = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Availability(problem="its answer is not a list of models")
    items = listed.get("data") if isinstance(listed, dict) else listed
    rows = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    # Google's list, and only its list, puts `models/` before the names.
    return Availability({str(row.get("id", "")).removeprefix("models/"): _window(row) for row in rows})


def _window(row: dict[str, Json]) -> int:
    meta = row.get("meta")
    values = [row.get(name) for name in _WINDOWS]
    values.append(meta.get("n_ctx") if isinstance(meta, dict) else None)
    return next((v for v in values if isinstance(v, int) and not isinstance(v, bool) and v > 0), 0)
