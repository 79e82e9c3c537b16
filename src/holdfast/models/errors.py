"""What goes wrong with a model, by what can be done about it.

Rule: every failure of a provider becomes one of these, with the provider's own words cut to a line; none of them
carries a key.
"""

from holdfast.errors import HoldfastError
from holdfast.messages import Usage


class ModelError(HoldfastError):
    """A model could not be asked, or did not answer. `is_passing` says that the same request may yet succeed."""

    is_passing = False
    retry_after: float | None = None
    """The seconds that the provider asks to wait for, None where it does not say."""
    usage: Usage | None = None
    """What was used before it came to this, where replies came that were no good."""


class Overflowed(ModelError):
    """The request is too long. `limit` is what the model takes, 0 where the provider does not say."""

    def __init__(self, message: str, *, limit: int = 0, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.limit = limit


class AuthFailed(ModelError):
    """No key, a wrong one, or one that may not use this model."""


class RateLimited(ModelError):
    """Too many requests, or the provider is overloaded. `retry_after` is in seconds, None where it does not say."""

    is_passing = True

    def __init__(self, message: str, *, retry_after: float | None = None, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class Refused(ModelError):
    """The provider declined: a request it does not accept, a model that is not there, content it will not touch."""


class NetworkFailed(ModelError):
    """The provider could not be reached, broke off, or failed by itself."""

    is_passing = True


class TimedOut(NetworkFailed):
    """No first token, or no further one, in time."""


class BadReply(ModelError):
    """What came is no reply: not the protocol, or cut off before its end."""

    is_passing = True
