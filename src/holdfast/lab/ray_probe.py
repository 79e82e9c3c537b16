"""What a Ray cluster says of itself, as JSON on stdout: `python -m holdfast.lab.ray_probe ADDRESS`.

Rule: it is a process of its own, because it may hang, or be ended by Ray.
"""

import json
import platform
import sys
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy


def describe(address: str) -> dict[str, Any]:
    """The cluster's address and processors, and the versions that a worker of each node has."""
    ray.init(address=address, log_to_driver=False, logging_level="error")

    def versions() -> tuple[str, str]:
        # A function inside another one travels as it is: there may be no Holdfast where it runs.
        try:
            from holdfast.version import __version__  # noqa: PLC0415
        except ImportError:
            return platform.python_version(), ""
        return platform.python_version(), __version__

    nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
    places = [NodeAffinitySchedulingStrategy(node["NodeID"], soft=False) for node in nodes]
    tasks = [ray.remote(num_cpus=0, scheduling_strategy=place)(versions).remote() for place in places]
    return {
        "address": ray.get_runtime_context().gcs_address,
        "processors": int(sum(node["Resources"]["CPU"] for node in nodes)),
        "nodes": [
            (node["NodeManagerAddress"], *found) for node, found in zip(nodes, ray.get(tasks), strict=True)
        ],
    }


if __name__ == "__main__":
    try:
        found = describe(sys.argv[1])
    except Exception as error:
        found = {"error": str(error) or type(error).__name__}
    sys.stdout.write(json.dumps(found) + "\n")
