"""Agents: sessions whose model calls tools, with permissions, approvals and a log.

>>> @tool(permission="ask")
... def open_gate(gate: Literal["north", "south"]) -> str:
...     '''Opens a gate of the town.'''
...     return world.open(gate)
...
>>> permissions = Permissions(approve=lambda request: input(f"{request.tool}? ") == "y")
>>> agent = Agent(session, [open_gate], permissions=permissions)
>>> print(agent.say("Open the north gate!").text)
"""

from __future__ import annotations

from . import aio
from .agent import Agent, AgentStream
from .approval import ApprovalRequest, Decision
from .audit import AuditEntry, AuditLog
from .context import CallContext
from .dispatch import Dispatch
from .mcp import McpError, McpHttp, McpProcess, McpServer, McpServers, McpWebSocket
from .options import Permission, ToolOptions
from .permissions import Permissions
from .records import Answer, Call, Round, Source, ToolResult
from .route import Candidate, Choice, Evaluation, Router
from .sandbox import PythonSandbox, SandboxError, SandboxFile, SandboxLimits, SandboxResult
from .search import FolderSource, Hit, HitSource, Inquiry, Search, SearchResult, StoreSource, WebSource
from .tool import Tool, tool

__all__ = [
    "Agent",
    "AgentStream",
    "Answer",
    "ApprovalRequest",
    "AuditEntry",
    "AuditLog",
    "Call",
    "CallContext",
    "Candidate",
    "Choice",
    "Decision",
    "Dispatch",
    "Evaluation",
    "FolderSource",
    "Hit",
    "HitSource",
    "Inquiry",
    "McpError",
    "McpHttp",
    "McpProcess",
    "McpServer",
    "McpServers",
    "McpWebSocket",
    "Permission",
    "Permissions",
    "PythonSandbox",
    "Round",
    "Router",
    "SandboxError",
    "SandboxFile",
    "SandboxLimits",
    "SandboxResult",
    "Search",
    "SearchResult",
    "Source",
    "StoreSource",
    "Tool",
    "ToolOptions",
    "ToolResult",
    "WebSource",
    "aio",
    "tool",
]
