"""MCP servers as tools of an agent: programs, or services over HTTP and WebSocket. Needs the extra `agent`.

>>> with McpServer("files", McpProcess("files-server", ["/data"]), exclude=["delete_*"]) as files:
...     agent = Agent(session, [open_gate, files])
...     print(agent.say("What is on the notice board?").text)
"""

from __future__ import annotations

from .config import McpServers
from .errors import McpError
from .server import McpServer
from .sources import McpHttp, McpProcess, McpWebSocket

__all__ = ["McpError", "McpHttp", "McpProcess", "McpServer", "McpServers", "McpWebSocket"]
