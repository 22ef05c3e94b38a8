"""`McpError`, and the text of foreign exceptions."""

from __future__ import annotations

from ...errors import SottoError, Status

_LONGEST = 300  # characters of a server's own text in an error
NEEDS = "MCP servers need the packages mcp and websockets: pip install sotto-runtime[agent]"


class McpError(SottoError):
    """An MCP server cannot be reached, or did not answer as expected. The message names the server."""

    def __init__(self, message: str, status: int = Status.STATE) -> None:
        super().__init__(message, status)


class Unusable(Exception):
    """A server answered by the protocol, with what an agent cannot use."""


def described_error(error: BaseException) -> str:
    """Returns an exception as text: the first cause of a group, without the values of a validation."""
    error = first_cause(error)
    kind = type(error).__name__
    if kind == "ValidationError":
        (first, *_) = error.errors() or [{}]  # type: ignore[attr-defined]  # of pydantic
        place = ".".join(map(str, first.get("loc", ())))
        return short(f"what it sent is not of the protocol's form, at {place}")
    if isinstance(error, Unusable):
        return str(error)
    if kind == "MCPError":
        return short(str(error))
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    text = short(str(error))
    return f"{kind}: {text}" if text else kind


def first_cause(error: BaseException) -> BaseException:
    """Returns the first exception of a group; another one as it is."""
    while (inner := getattr(error, "exceptions", None)) and isinstance(inner, tuple):
        error = inner[0]
    return error


def short(text: str) -> str:
    """Returns a text of others on one line, cut."""
    line = " ".join("".join(one if one.isprintable() else " " for one in text).split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."
