"""What a sandbox returns: `SandboxResult`, `SandboxFile`, and `SandboxError`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ...errors import SottoError

Ending = Literal[
    "", "time_limit", "cpu_time", "threads", "disk_mb", "files", "output", "cancelled", "exited", "protocol"
]


class SandboxError(SottoError):
    """A sandbox could not be created, or the process of a call was ended.

    Attributes:
        ending: Which limit ended the process, by its name in `SandboxLimits`; "output" if it printed more
            than 4 MB; "cancelled"; "exited" if it ended itself; "protocol" if it broke its connection.
            Empty if no code ran.
        output: What the code printed before, cut.
        seconds: Time from the start of the call until the process was ended and reaped.
    """

    ending: Ending = ""
    output: str = ""
    seconds: float = 0.0


class Ended(Exception):
    """The process has to be ended, or has ended: which limit, and what is said of it."""

    def __init__(self, ending: Ending, reason: str) -> None:
        super().__init__(reason)
        self.ending, self.reason = ending, reason


@dataclass(frozen=True)
class SandboxFile:
    """A file that code wrote to its work folder, as it was after the call.

    Attributes:
        id: Id of the file. A file that is written again has another.
        name: Path in the work folder, with "/".
        session_id: Id of the session that wrote it.
        data: The content.
    """

    id: str
    name: str
    session_id: str
    data: bytes = field(repr=False)


@dataclass(frozen=True)
class SandboxResult:
    """The result of a call.

    Attributes:
        output: What the code printed, and the value of its last expression, cut.
        ok: False if the code raised; the output ends with the traceback.
        files: Files that the code wrote or changed.
        seconds: Time that the call took.
        lost: Why the variables of earlier calls are gone: the process was ended between the calls. Empty:
            they are not.
    """

    output: str
    ok: bool
    files: tuple[SandboxFile, ...] = ()
    seconds: float = 0.0
    lost: str = ""

    @property
    def text(self) -> str:
        """The result as a model reads it."""
        parts = [f"[{self.lost}: earlier variables are gone]"] if self.lost else []
        if self.output:
            parts.append(self.output.rstrip("\n"))
        parts += [f"[file {one.name}: {len(one.data)} bytes, id {one.id}]" for one in self.files]
        return "\n".join(parts) or "done"
