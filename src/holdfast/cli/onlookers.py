"""Who follows a run besides the person: a trace in a file, and spans where the environment asks for them.

Rule: telemetry is loaded only where `OTEL_TRACES_EXPORTER` names an exporter, and none of it holds a text.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.agents.coding.setup import Opened
from holdfast.agents.headless import Result
from holdfast.agents.notices import Notice
from holdfast.agents.traces import Trace
from holdfast.errors import ConfigError

VARIABLE = "OTEL_TRACES_EXPORTER"


class Onlookers:
    def __init__(self, trace: Path | None, env: Mapping[str, str]) -> None:
        self._provider: Any = _provider(env) if env.get(VARIABLE, "none") not in ("none", "") else None
        self._spans: Any = None
        self._trace = Trace(trace) if trace else None

    def began(self, opened: Opened) -> None:
        if self._provider:
            # Loaded late, as below.
            from holdfast.agents.otel import Spans  # noqa: PLC0415

            desk = opened.desk
            tracer = self._provider.get_tracer("holdfast")
            self._spans = Spans(tracer, log=desk.session.log.id, model=desk.agent.model.name)

    def watch(self, notice: Notice) -> None:
        if self._trace:
            self._trace.watch(notice)
        if self._spans:
            self._spans.watch(notice)

    def ended(self, result: Result) -> None:
        """Raises what kept the trace from being written."""
        if self._spans:
            self._spans.end(result.outcome)
        if self._trace:
            self._trace.end(result)

    def close(self) -> None:
        if self._trace:
            self._trace.close()
        if self._provider:
            self._provider.shutdown()


def _provider(env: Mapping[str, str]) -> Any:
    try:
        # Loaded late: an extra that few have.
        from holdfast.agents.otel import provider_from  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("opentelemetry"):
            raise
        raise ConfigError(
            f"`{VARIABLE}` is set, and OpenTelemetry is not installed",
            hint="`pip install 'holdfast[otel]'`, or unset it",
        ) from None
    return provider_from(env)
