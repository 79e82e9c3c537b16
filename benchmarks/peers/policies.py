"""The peers as plans of a replay: `holdfast replay --policy peers.policies:langchain_trim FILES`.

Rule: a plan names a peer, a variant of its adapter, and nothing that the adapter does not do.
"""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from holdfast.errors import InputError
from holdfast.lab.policies.simple import Newest
from holdfast.lab.policy import NamedPolicy, PolicyReply, Task
from holdfast.wire.content_blocks import WireDict
from peers.adapter import PeerError
from peers.environments import interpreter, pins
from peers.process import ProcessPolicy

LEARNING = ("headroom",)
"""Peers that keep statistics of what they compressed: a process of its own for each recording."""


def start(peer: str, variant: str, task: Task, *, module: str = "") -> ProcessPolicy:
    """A variant of a peer for one recording. Raises InputError where its environment is not set up.

    `module` is the adapter, where it is not named after the peer.
    """
    python = interpreter(peer)
    if not python.exists():
        raise InputError(
            f"the environment of the peer `{peer}` is not set up",
            hint="python benchmarks/peers/run.py --set-up-only",
        )
    command = [str(python), "-m", f"peers.adapters.{module or peer}"]
    policy = ProcessPolicy(task, command, variant, reuse=peer not in LEARNING)
    with suppress(PeerError):
        # Now, so that loading the library is not the time of the first request, which repeats a failure.
        policy.start()
    return policy


class Fitted:
    """What a peer without a budget sends, cut to the newest whole steps that fit, as our policy `newest` does."""

    def __init__(self, peer: ProcessPolicy, task: Task) -> None:
        self._peer = peer
        self._task = task

    @property
    def about(self) -> str:
        return f"{self._peer.about}, then newest that fits" if self._peer.about else ""

    def start(self) -> None:
        self._peer.start()

    def pack(self, messages: Sequence[WireDict], at: float | None) -> PolicyReply:
        sent = self._peer.pack(messages, at)
        # A peer may rewrite any message at any time, so nothing is carried over from the last request.
        fitted = Newest(self._task).pack(sent.messages, at)
        return PolicyReply(fitted.messages if isinstance(fitted, PolicyReply) else fitted, sent.calls)

    def close(self) -> None:
        self._peer.close()


def start_fitted(peer: str, variant: str, task: Task) -> Fitted:
    return Fitted(start(peer, variant, task), task)


def _plan(name: str, peer: str, variant: str, about: str, module: str = "") -> NamedPolicy:
    return NamedPolicy(name, partial(start, peer, variant, module=module), f"{pins(peer)}: {about}")


def _ours(peer: str, about: str) -> NamedPolicy:
    """Our adapter for a framework, inside that framework."""
    name = f"holdfast_{peer}"
    return _plan(name, peer, "holdfast", f"{about}, profile code, budget = budget", module=name)


def _fitted(name: str, peer: str, variant: str, about: str) -> NamedPolicy:
    return NamedPolicy(
        name, partial(start_fitted, peer, variant), f"{pins(peer)}: {about}, then newest that fits"
    )


langchain_trim = _plan(
    "langchain_trim",
    "langchain",
    "trim",
    "trim_messages, last, approximate count, start on human, end on human or tool, max_tokens = budget",
)
langchain_trim_plain = _plan(
    "langchain_trim_plain",
    "langchain",
    "trim_plain",
    "trim_messages, last, approximate count, max_tokens = budget, no other option",
)
langchain_summary = _plan(
    "langchain_summary",
    "langchain",
    "summary",
    "SummarizationMiddleware at 0.8 of the budget, keep 20 messages, the summariser sees all, rule-based model",
)
langchain_summary_capped = _plan(
    "langchain_summary_capped",
    "langchain",
    "summary_capped",
    "SummarizationMiddleware at 0.8 of the budget, keep 20 messages, default cap of 4 000 tokens on what the "
    "summariser sees, rule-based model",
)
langchain_clear = _plan(
    "langchain_clear",
    "langchain",
    "clear",
    "ClearToolUsesEdit at 0.5 of the budget (100 000 of 200 000), keep 3",
)
holdfast_langchain = _ours("langchain", "HoldfastMiddleware")
headroom = _plan("headroom", "headroom", "compress", "compress, model_limit = budget, offline")
headroom_newest = _fitted(
    "headroom_newest", "headroom", "compress", "compress, model_limit = budget, offline"
)
leancontext = _plan("leancontext", "leancontext", "reduce", "reduce_messages, defaults")
leancontext_newest = _fitted("leancontext_newest", "leancontext", "reduce", "reduce_messages, defaults")
litellm_trim = _plan("litellm_trim", "litellm", "trim", "trim_messages, max_tokens = 0.75 of the budget")
holdfast_litellm = _ours("litellm", "HoldfastHandler")
openai_agents_trimmer = _plan(
    "openai_agents_trimmer", "openai_agents", "trimmer", "ToolOutputTrimmer, defaults"
)
openai_agents_trimmer_newest = _fitted(
    "openai_agents_trimmer_newest", "openai_agents", "trimmer", "ToolOutputTrimmer, defaults"
)
holdfast_openai_agents = _ours("openai_agents", "HoldfastSession")
pydantic_ai_harness = _plan(
    "pydantic_ai_harness",
    "pydantic_ai_harness",
    "tiers",
    "TieredCompaction to 0.8 of the budget with the recommended tiers, rule-based model",
)
holdfast_pydantic_ai = _ours("pydantic_ai", "the capability Holdfast")
agent_framework = _plan(
    "agent_framework",
    "agent_framework",
    "context_window",
    "ContextWindowCompactionStrategy at 0.5 and 0.8 of the budget",
)
holdfast_agent_framework = _ours("agent_framework", "HoldfastContextProvider")
strands_window = _plan(
    "strands_window", "strands", "window", "sliding window of 40 messages, model window = budget"
)
strands_auto = _plan(
    "strands_auto", "strands", "auto", "automatic context manager, model window = budget, rule-based model"
)
google_adk = _plan("google_adk", "google_adk", "default", "no setting, which sends everything")
google_adk_compaction = _plan(
    "google_adk_compaction",
    "google_adk",
    "compaction",
    "token-based compaction at 0.8 of the budget, 5 events retained, rule-based model",
)
holdfast_strands = _ours("strands", "HoldfastConversationManager")
holdfast_google_adk = _ours("google_adk", "HoldfastPlugin")

ALL = (
    langchain_trim,
    langchain_trim_plain,
    langchain_summary,
    langchain_summary_capped,
    langchain_clear,
    holdfast_langchain,
    headroom,
    headroom_newest,
    leancontext,
    leancontext_newest,
    litellm_trim,
    holdfast_litellm,
    openai_agents_trimmer,
    openai_agents_trimmer_newest,
    holdfast_openai_agents,
    pydantic_ai_harness,
    holdfast_pydantic_ai,
    agent_framework,
    holdfast_agent_framework,
    strands_window,
    strands_auto,
    google_adk,
    google_adk_compaction,
    holdfast_strands,
    holdfast_google_adk,
)


def peer_of(plan: NamedPolicy) -> str:
    """The peer in whose environment a plan runs."""
    assert isinstance(plan.start, partial), "plans are made here"
    return str(plan.start.args[0])
