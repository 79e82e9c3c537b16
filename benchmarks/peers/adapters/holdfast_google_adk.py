"""Holdfast inside Google's Agent Development Kit as a policy: its plugin in an app of the library.

Rule: the app is that of `adapters/google_adk.py`; only the plugin is added.
"""

from holdfast.adapters.google_adk import HoldfastPlugin
from peers.adapters.google_adk import Adk
from peers.adapters.holdfast_profile import replay_profile
from peers.adapters.serve import Packer, serve


class MessagesOnly(HoldfastPlugin):
    """The budget of a replay is for messages alone, and a tool or a prompt would take some of it."""

    async def before_model_callback(self, *, llm_request, **context):
        llm_request.config.system_instruction = None
        return await super().before_model_callback(llm_request=llm_request, **context)

    def _offer_recall(self, llm_request) -> None: ...


def start(variant: str, budget: int) -> Packer:
    if variant != "holdfast":
        raise ValueError(f"there is no variant `{variant}`")
    plugin = MessagesOnly(profile=replay_profile(budget))
    return Adk(f"plugins=[HoldfastPlugin({budget}, profile=code)]", plugin=plugin)


if __name__ == "__main__":
    serve(start)
