"""OpenTelemetry where the environment asks for it.

Rule: it is loaded only then. Where it is not installed, a sentence says how to install it.
"""

from collections.abc import Mapping
from typing import Any

from holdfast.errors import ConfigError

OTEL_VARIABLE = "OTEL_TRACES_EXPORTER"


def requested_provider(env: Mapping[str, str]) -> Any:
    """A provider of tracers for the exporters that the environment names; None where it names none."""
    if env.get(OTEL_VARIABLE, "none") in ("none", ""):
        return None
    try:
        # Imported late: an extra that few have installed.
        from holdfast.models.telemetry import tracer_provider  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("opentelemetry"):
            raise
        raise ConfigError(
            f"`{OTEL_VARIABLE}` is set, but OpenTelemetry is not installed",
            hint="run `pip install '.[otel]'` in a checkout of Holdfast, or unset the variable",
        ) from None
    return tracer_provider(env)
