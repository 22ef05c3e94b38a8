"""An MCP server over stdio by hand, of an older protocol, that behaves as badly as asked.

Run as `mcp_raw.py MODE [ARGUMENT...]`. It imports nothing of others, so that it starts at once.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

LOG = b'{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}\n'
ANY = {"type": "object"}


def send(**message: Any) -> None:
    """Writes a message."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def flood(line: bytes) -> None:
    """Writes a line without an end."""
    while True:
        os.write(1, line)


def sleep() -> None:
    """Does not end by itself, nor by SIGTERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)


def answer(message: dict[str, Any], lists: list[Any]) -> Any:
    """Returns the result of a request; None: none is sent."""
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        about = {"name": "raw", "version": "1"}
        can = {"tools": {"listChanged": True}}
        return {"protocolVersion": "2025-06-18", "capabilities": can, "serverInfo": about}
    if method == "tools/list":
        listed = lists[0]
        return {"tools": [], "nextCursor": "again"} if listed == "endless" else {"tools": listed}
    if method != "tools/call":
        send(id=message["id"], error={"code": -32601, "message": "Method not found"})
        return None
    name, given = params["name"], params.get("arguments", {})
    if name == "replace":
        lists[0] = given["tools"]
        send(method="notifications/tools/list_changed")
    elif name == "crash":
        os._exit(3)
    elif name == "stall":
        return None
    elif name == "flood":
        flood(LOG)
    elif name == "echo":
        send(id=message["id"], error={"code": -32000, "message": f"denied: {os.environ.get('BOARD_TOKEN')}"})
        return None
    elif name == "odd":
        return {"content": [{"type": "text", "text": 7}, "nothing"]}
    elif name == "large":
        return {"content": [{"type": "text", "text": "x" * given["size"]}]}
    return {"content": [{"type": "text", "text": f"ran {name}"}]}


def serve(lists: list[Any], notes: str = "") -> None:
    """Answers requests until the input ends. Notes what was cancelled."""
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("method") == "notifications/cancelled" and notes:
            with open(notes, "a") as file:
                file.write(f"cancelled {message['params']['requestId']}\n")
        if "id" in message and "method" in message and (result := answer(message, lists)) is not None:
            send(id=message["id"], result=result)


def main() -> None:
    """Serves, or misbehaves."""
    mode, *given = sys.argv[1:]
    names = ("look", "crash", "stall", "flood", "echo", "odd", "large", "replace")
    tools = [{"name": one, "inputSchema": ANY} for one in names]
    if mode == "serves":
        serve([tools], *given)
    elif mode == "lists":
        serve([json.loads(Path(given[0]).read_text())])
    elif mode == "chatty":
        print("Server ready!", flush=True)
        serve([tools])
    elif mode == "once":  # starts once alone
        file = Path(given[0])
        count = int(file.read_text() or 0) if file.exists() else 0
        file.write_text(str(count + 1))
        serve([tools]) if count == 0 else sys.exit(7)
    elif mode == "ends":
        print("no licence", file=sys.stderr)
        sys.exit(7)
    elif mode == "stalls":
        Path(given[0]).write_text(str(os.getpid()))
        sleep()
    elif mode == "does not end":  # when its input is closed
        Path(given[0]).write_text(str(os.getpid()))
        serve([tools])
        sleep()
    elif mode == "parent":  # leaves a child behind that holds the pipes
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        Path(given[0]).write_text(str(child.pid))
        serve([tools])
    elif mode == "garbage":
        flood(b"not json\n")
    elif mode == "endless line":
        flood(b"x" * 65536)
    elif mode == "notifications":
        flood(LOG)
    elif mode == "errors":
        flood_errors()
    else:
        sys.exit(f"unknown mode {mode}")


def flood_errors() -> None:
    """Writes to standard error without an end, and serves beside it."""
    if os.fork() == 0:
        while True:
            os.write(2, b"e" * 65536)
    serve([[{"name": "look", "inputSchema": ANY}]])


if __name__ == "__main__":
    main()
