"""Every adapter with its real framework, in an environment that has nothing else."""

import os
import subprocess
from pathlib import Path

import pytest
from peers.environments import has_adapter, interpreter, is_standing, names

ROOT = Path(__file__).parents[2]
FRAMEWORKS = Path(__file__).parent / "frameworks"
ADAPTERS = [name for name in names() if has_adapter(name)]


@pytest.mark.parametrize("name", ADAPTERS)
def test_the_tests_of_an_adapter_pass_with_its_framework(name, tmp_path) -> None:
    if not is_standing(name):
        pytest.skip(f"`{name}` is not set up: python benchmarks/peers/environments.py {name}")
    command = [interpreter(name), "-m", "pytest", "-p", "no:cacheprovider", FRAMEWORKS / f"test_{name}.py"]
    # No proxy, no key, no tracing: nothing of the machine's but what a program needs to start.
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


@pytest.mark.parametrize("name", ADAPTERS)
def test_every_adapter_has_tests_and_an_example(name) -> None:
    assert (FRAMEWORKS / f"test_{name}.py").exists()
    assert (ROOT / "examples" / "adapters" / f"{name}_agent.py").exists()
