"""Holdfast inside the OpenAI Agents SDK as a policy: its session, in runs of the library.

Rule: a run for each request, with what is new as its input; the session brings the rest.
"""

from importlib.metadata import version

from agents import Agent, Runner
from holdfast.adapters.openai_agents import HoldfastSession
from peers.adapters.event_loop import wait_for
from peers.adapters.holdfast_profile import replay_profile
from peers.adapters.openai_agents import Recorder, Sent, to_items, to_openai
from peers.adapters.serve import Answer, Message, Packer, serve


class HoldfastAgents:
    """One session on one recording."""

    def __init__(self, budget: int) -> None:
        self._model = Recorder()
        self._agent = Agent("replay", model=self._model)
        self._session = HoldfastSession("replay", profile=replay_profile(budget))
        self._config = self._session.run_config()
        self.about = f"openai-agents {version('openai-agents')}; HoldfastSession({budget}, profile=code)"

    def pack(self, new: list[Message], at: float | None) -> Answer:  # noqa: ARG002
        run = Runner.run(self._agent, to_items(new), session=self._session, run_config=self._config)
        try:
            wait_for(run)
        except Sent:
            return Answer(to_openai(self._model.request))
        raise AssertionError("the run ended without a request")


def start(variant: str, budget: int) -> Packer:
    if variant != "holdfast":
        raise ValueError(f"there is no variant `{variant}`")
    return HoldfastAgents(budget)


if __name__ == "__main__":
    serve(start)
