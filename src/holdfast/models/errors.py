"""Errors of models, by what can be done about them.

Rule: every failure of a provider becomes one of these, with the provider's own words on one line; none of them
contains a key.
"""

from holdfast.errors import HoldfastError
from holdfast.messages import Usage


class ModelError(HoldfastError):
    """A model could not be asked, or did not answer. `is_transient`: the same request may succeed later.
    `retry_after` are the seconds that the provider asks to wait, None where it does not say."""

    is_transient = False
    usage: Usage | None = None
    """What replies that could not be used have cost, where there were any."""

    def __init__(self, message: str, *, retry_after: float | None = None, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class Overflowed(ModelError):
    """The request is too long. `limit` is the most tokens the model takes, 0 where the provider does not say."""

    def __init__(self, message: str, *, limit: int = 0, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.limit = limit


class AuthFailed(ModelError):
    """The key is missing, wrong, or not allowed to use this model."""


class RateLimited(ModelError):
    """Too many requests, or the provider is overloaded."""

    is_transient = True


class Refused(ModelError):
    """The provider declined: a request it does not accept, an unknown model, content it rejects."""


class NetworkFailed(ModelError):
    """The provider could not be reached, closed the connection, or failed by itself."""

    is_transient = True


class TimedOut(NetworkFailed):
    """The first token, or the next one, did not arrive in time."""


class BadReply(ModelError):
    """What arrived is not a reply: it breaks the protocol, or ends too early."""

    is_transient = True
