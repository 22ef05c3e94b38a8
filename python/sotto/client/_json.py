"""Reads JSON values of a type, and names the JSON path of a value of another type."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from .errors import ApiError

_MISSING: Any = object()


class Answer(NamedTuple):
    """A response: what was requested, the HTTP status and the body."""

    request: str
    status: int
    content: bytes

    def text(self) -> str:
        """Returns the body as text."""
        return self.content.decode("utf-8", "replace")

    def json(self) -> Value:
        """Returns the body. Raises `ApiError` if it is not JSON."""
        try:
            return Value(json.loads(self.content), "", self)
        except (ValueError, RecursionError):
            raise ApiError(
                self.request, self.status, self.text()[:2000], "invalid response: expected JSON"
            ) from None


class Value:
    """A value of a response and its JSON path. Methods raise `ApiError` for a value of another type."""

    def __init__(self, value: Any, path: str, answer: Answer) -> None:
        self.value, self._path, self._answer = value, path, answer

    def __getitem__(self, name: str) -> Value:
        path = f"{self._path}.{name}" if self._path else name
        return Value(self.mapping().get(name, _MISSING), path, self._answer)

    def __bool__(self) -> bool:
        return self.value is not _MISSING and self.value is not None

    def items(self) -> Iterator[Value]:
        """Yields the elements of an array."""
        for index, value in enumerate(self._of(list, "an array")):
            yield Value(value, f"{self._path}[{index}]", self._answer)

    def mapping(self) -> dict[str, Any]:
        """Returns an object."""
        return self._of(dict, "an object")  # type: ignore[no-any-return]

    def list(self) -> list[Any]:
        """Returns an array."""
        return self._of(list, "an array")  # type: ignore[no-any-return]

    def text(self, default: Any = _MISSING) -> Any:
        """Returns a string."""
        return self._of(str, "a string", default)

    def flag(self, default: Any = _MISSING) -> Any:
        """Returns a boolean."""
        return self._of(bool, "a boolean", default)

    def integer(self, default: Any = _MISSING) -> Any:
        """Returns an integer."""
        if isinstance(self.value, float) and self.value.is_integer():
            return int(self.value)
        if isinstance(self.value, bool):
            self.fail("an integer")
        return self._of(int, "an integer", default)

    def number(self, default: Any = _MISSING) -> Any:
        """Returns a float. The servers write NaN and infinity as null, which yields the default."""
        if isinstance(self.value, bool):
            self.fail("a number")
        found = self._of((int, float), "a number", default)
        return found if found is None else float(found)

    def raw(self) -> Any:
        """Returns the value; None if it is absent."""
        return self.value if self else None

    def fail(self, expected: str) -> Any:
        """Raises the `ApiError` that says what was expected here."""
        place = f" '{self._path}'" if self._path else ""
        found = "nothing" if self.value is _MISSING else type(self.value).__name__
        raise ApiError(
            self._answer.request,
            self._answer.status,
            self._answer.text()[:2000],
            f"invalid response:{place} is {found}, expected {expected}",
        )

    def _of(self, types: Any, expected: str, default: Any = _MISSING) -> Any:
        if isinstance(self.value, types):
            return self.value
        if not self and default is not _MISSING:
            return default
        return self.fail(expected)
