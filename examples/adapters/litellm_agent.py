"""An agent's loop with LiteLLM and Holdfast: packed requests, Recall answered, and the log on disk.

OPENAI_API_KEY=… python examples/adapters/litellm_agent.py "What does this project do?"
"""

import json
import os
import sys
from pathlib import Path

from holdfast.adapters.litellm import HoldfastHandler

PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = [{"type": "function", "function": {"name": "read_file", "parameters": PATH}}]

handler, model = HoldfastHandler(budget="128k", store="agent.db"), os.environ.get("LITELLM_MODEL", "gpt-5.2")
messages = [{"role": "system", "content": "You are brief."}, {"role": "user", "content": sys.argv[1]}]
while True:
    response = handler.completion(
        model=model, messages=messages, tools=TOOLS, litellm_session_id="thread-1"
    )  # in the proxy, or with `litellm.acompletion`: litellm.callbacks = [handler]
    reply = response.choices[0].message
    messages.append(reply)
    for call in reply.tool_calls or []:
        text = Path(json.loads(call.function.arguments)["path"]).read_text()
        messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
    if not reply.tool_calls:
        break
print(reply.content)
