"""`Redactor`: keeps tokens out of texts, and out of the logs of the packages that MCP runs on."""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Iterable

_HIDDEN = "***"
_LONGEST = 500  # characters of a line of a log
_LOGGERS = (  # loggers whose lines can hold what a server sent, or an address
    "client",
    "mcp.client.client",
    "mcp.client.streamable_http",
    "mcp.shared.jsonrpc_dispatcher",
    "mcp.shared._httpx_utils",
    "httpx2",
    "httpcore2.connection",
    "httpcore2.http11",
)

_lock = threading.Lock()  # guards the set and the filter below
_active: weakref.WeakSet[Redactor] = weakref.WeakSet()


class Redactor:
    """Replaces secrets in texts. Thread-safe.

    Args:
        secrets: What must not be shown; empty texts are left out.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets = sorted({one for one in secrets if one}, key=len, reverse=True)
        if self._secrets:
            with _lock:
                _active.add(self)
                for name in _LOGGERS:
                    logging.getLogger(name).addFilter(_filter)

    def __repr__(self) -> str:
        return f"<Redactor of {len(self._secrets)} secrets>"

    def clean(self, text: str) -> str:
        """Returns a text without the secrets."""
        for one in self._secrets:
            text = text.replace(one, _HIDDEN)
        return text


class _Filter(logging.Filter):
    """Cleans records of others. Leaves out tracebacks, which can hold what a server sent."""

    def filter(self, record: logging.LogRecord) -> bool:
        with _lock:
            every = list(_active)
        try:
            text = record.getMessage()
        except Exception:
            text = str(record.msg)
        if record.exc_info and record.exc_info[0] is not None:
            text = f"{text} ({record.exc_info[0].__name__})"
        for one in every:
            text = one.clean(text)
        record.msg, record.args = text[:_LONGEST], None
        record.exc_info = record.exc_text = record.stack_info = None
        return True


_filter = _Filter()
