"""Methods of the generated data classes."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._desc import StrPath, path_text
from .._json import load
from .errors import RunnerError

if TYPE_CHECKING:
    from .agents import AgentToolApprovalDecision
    from .tools import ApproximateUserLocation, WebSearchUserLocation

ERROR = "error"  # format of the placeholder for a file that no tool produced


class AgentToolApprovalMethods:
    """Methods of `AgentToolApproval`."""

    __slots__ = ()
    arguments_json: str

    def arguments(self) -> Any:
        """Returns the arguments, parsed."""
        return load(self.arguments_json)


class AgentToolApprovalDecisionMethods:
    """Methods of `AgentToolApprovalDecision`."""

    __slots__ = ()

    @staticmethod
    def approve(remember_for_session: bool = False) -> AgentToolApprovalDecision:
        """Returns the decision that the tool runs."""
        from .agents import AgentToolApprovalDecision, AgentToolApprovalDecisionKind

        return AgentToolApprovalDecision(AgentToolApprovalDecisionKind.Approve, remember_for_session)

    @staticmethod
    def deny(message: str | None = None) -> AgentToolApprovalDecision:
        """Returns the decision that the tool does not run. `message`: what the model gets."""
        from .agents import AgentToolApprovalDecision, AgentToolApprovalDecisionKind

        return AgentToolApprovalDecision(AgentToolApprovalDecisionKind.Deny, message=message)


class WebSearchUserLocationMethods:
    """Methods of `WebSearchUserLocation`."""

    __slots__ = ()

    @staticmethod
    def approximate(approximate: ApproximateUserLocation) -> WebSearchUserLocation:
        """Returns a location that is known about."""
        from .tools import WebSearchUserLocation

        return WebSearchUserLocation(approximate)


class FileMethods:
    """Methods of `File`."""

    __slots__ = ()
    id: str
    name: str
    format: str | None
    mime_type: str | None
    text: str | None
    data_base64: str | None

    def is_text(self) -> bool:
        """Returns True if the body is text."""
        return self.text is not None and not self.is_error()

    def is_binary(self) -> bool:
        """Returns True if the body is binary."""
        return self.data_base64 is not None

    def is_image(self) -> bool:
        """Returns True if the MIME type is that of an image."""
        return (self.mime_type or "").startswith("image/")

    def is_video(self) -> bool:
        """Returns True if the MIME type is that of a video."""
        return (self.mime_type or "").startswith("video/")

    def is_error(self) -> bool:
        """Returns True if this stands for a file that was requested and not produced."""
        return self.format == ERROR

    def is_truncated(self) -> bool:
        """Returns True if the body was left out; `Runner.find_file()` has it."""
        return self.text is None and self.data_base64 is None

    def save(self, path: StrPath) -> None:
        """Writes the body to a file.

        Raises:
            RunnerError: This object has no body.
            OSError: The file cannot be written.
        """
        if self.is_error() or self.is_truncated():
            raise RunnerError(
                f"file '{self.name}' has no body here: Runner.find_file('{self.id}') may have it"
            )
        body = base64.b64decode(self.data_base64) if self.data_base64 is not None else self.text.encode()  # type: ignore[union-attr]
        Path(path_text("path", path)).write_bytes(body)
