"""What `Agent` may be given.

Rule: what cannot be used is refused in one sentence, before anything is recorded.
"""

from msgspec.structs import asdict

from holdfast.agents.limits import RunLimits
from holdfast.errors import InputError, describe_value
from holdfast.session import Session


def check_arguments(
    *,
    model: object,
    system: object,
    session: object,
    store: object,
    approve: object,
    limits: object,
    watch: object,
) -> None:
    """Raises InputError for the first that cannot be used."""
    has_model = isinstance(model, str) or (
        isinstance(getattr(model, "name", None), str) and callable(getattr(model, "stream", None))
    )
    _check(has_model, "model", model, 'pass a name such as `"anthropic/claude-opus-5"`, or a model')
    _check(isinstance(system, str | None), "system", system, "pass a text")
    _check(isinstance(session, Session | None), "session", session, "pass a `Session`")
    _check(isinstance(limits, RunLimits | None), "limits", limits, "pass `RunLimits(steps=40)`, for example")
    _check(approve is None or callable(approve), "approve", approve, "pass a function of a call")
    _check(callable(watch), "watch", watch, "pass a function of a notice")
    if isinstance(limits, RunLimits):
        for name, value in asdict(limits).items():
            _check_limit(name, value)
    if session is not None and store is not None:
        raise InputError(
            "an agent with a `session` writes to the store of that session",
            hint="leave `store` out here, and give it to `Session`",
        )


def _check(is_right: bool, name: str, value: object, hint: str) -> None:
    if not is_right:
        raise InputError(f"the agent's `{name}` is of type `{type(value).__name__}`", hint=hint)


def _check_limit(name: str, value: object) -> None:
    # Not `value < 0`: that is false of a NaN.
    if value and not (isinstance(value, int | float) and value > 0):
        raise InputError(
            f"the limit of {name} is {describe_value(value)}",
            hint="a limit is a number above 0; 0 is no limit",
        )
