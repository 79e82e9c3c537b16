"""How long imports take: milliseconds from start to end, the least of many starts.

    uv run python benchmarks/import_time.py

`import holdfast` must stay under 60 ms, bare interpreter included, and load no SDK.
"""

import subprocess
import sys
import time

STARTS = 15
CODE = {
    "python": "pass",
    "import holdfast": "import holdfast",
    "from holdfast import pack": "from holdfast import pack",
    "from holdfast import Session": "from holdfast import Session",
    "from holdfast import Agent, run, tool": "from holdfast import Agent, run, tool",
}
SDKS = "{'openai', 'anthropic', 'google.genai', 'httpx2', 'langchain', 'agents', 'litellm'}"


def least(code: str) -> float:
    """The least time of several starts: whatever else the machine does only adds to it."""
    times = []
    for _ in range(STARTS):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        times.append(time.perf_counter() - began)
    return min(times) * 1000


def main() -> None:
    bare = least(CODE["python"])
    print("| what | ms | ratio to `python` | SDKs loaded |\n| --- | --- | --- | --- |")
    for what, code in CODE.items():
        shown = f"{code}; import sys; print(sorted({SDKS} & set(sys.modules)))"
        loaded = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True)
        taken = least(code)
        print(f"| `{what}` | {taken:.0f} | {taken / bare:.1f} | {loaded.stdout.strip()} |")


if __name__ == "__main__":
    main()
