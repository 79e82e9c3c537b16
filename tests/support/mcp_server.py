"""An MCP server written with the SDK, as a program: `stdio`, or `http`, which prints the port it listens on."""

import base64
import os
import socket
import sys
import time

import uvicorn
from mcp.server.mcpserver import Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import EmbeddedResource, ResourceLink, TextContent, TextResourceContents, ToolAnnotations

PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

server = MCPServer("sample", log_level="CRITICAL")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def table() -> dict[str, int]:
    """Gives a small table."""
    return {"rows": 3, "columns": 2}


@server.tool(structured_output=False)
def greet(name: str) -> str:
    """Greets somebody."""
    return f"Hello {name}"


@server.tool(structured_output=False)
def picture() -> Image:
    """Shows a picture."""
    return Image(data=PICTURE, format="png")


@server.tool(structured_output=False)
def papers() -> list[ResourceLink | EmbeddedResource | TextContent]:
    """Hands out papers."""
    return [
        ResourceLink(type="resource_link", name="plan", uri="file:///plan.md", mime_type="text/markdown"),
        EmbeddedResource(
            type="resource", resource=TextResourceContents(uri="file:///note.txt", text="a note")
        ),
        TextContent(type="text", text="that is all"),
    ]


@server.tool(structured_output=False)
def fail() -> str:
    """Fails."""
    raise ToolError("the printer is on fire")


@server.tool()
def environment() -> list[str]:
    """Names of the variables that the server can see."""
    return sorted(os.environ)


@server.tool(structured_output=False)
def slow(seconds: float) -> str:
    """Takes its time."""
    time.sleep(seconds)
    return "at last"


def main() -> None:
    if sys.argv[1] == "stdio":
        sys.stderr.write("ready to serve\n")
        sys.stderr.flush()
        server.run("stdio")
        return
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", int(sys.argv[2])))
    listening.listen()  # From here on whoever connects waits, so that the port can be told.
    sys.stdout.write(f"{listening.getsockname()[1]}\n")
    sys.stdout.flush()
    config = uvicorn.Config(server.streamable_http_app(), log_level="error")
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
