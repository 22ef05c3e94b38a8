"""The output folder of packages: all packages appear there at the end of a run, or none."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from archives import Entry, write
from release import PackagingError

SUMS = "SHA256SUMS"
SIZES = "SIZES.md"


class OutputFolder:
    """Collects packages in a hidden subfolder; publish() moves them to the output folder.

    Leaving the `with` block without publish() removes everything that was collected; packages of an earlier
    run stay as they were.
    """

    def __init__(self, folder: Path, epoch: int) -> None:
        """Makes the folder if it is missing.

        Raises:
            PackagingError: The folder cannot be made or written to.
        """
        self.folder = folder
        self._epoch = epoch
        self._rows: list[tuple[str, int, str]] = []
        self._made = [one for one in (folder, *folder.parents) if not one.exists()]
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.work = Path(tempfile.mkdtemp(prefix=".packaging-", dir=folder))
        except OSError as error:
            raise PackagingError(
                f"invalid --out '{folder}': {error.strerror}; name a folder that can be written"
            ) from None
        self._ready = self.work / "ready"
        self._ready.mkdir()

    def __enter__(self) -> OutputFolder:
        """Returns this object."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Removes the hidden folder, and the folders that were made if they are still empty."""
        shutil.rmtree(self.work, ignore_errors=True)
        for folder in self._made:
            if folder.exists() and not any(folder.iterdir()):
                folder.rmdir()

    def add_archive(self, name: str, entries: Iterable[Entry], content: str) -> None:
        """Writes an archive.

        Args:
            name: File name of the archive; its ending chooses the kind.
            entries: The files in it.
            content: Description of the archive in the table of sizes.
        """
        write(self._ready / name, entries, self._epoch)
        self._note(name, content)

    def add_file(self, name: str, data: bytes, content: str) -> None:
        """Writes a file that is no archive."""
        (self._ready / name).write_bytes(data)
        self._note(name, content)

    def _note(self, name: str, content: str) -> None:
        self._rows.append((name, (self._ready / name).stat().st_size, content))

    def publish(self, remarks: list[str]) -> list[str]:
        """Writes the table of sizes and SHA256SUMS; moves all files to the output folder, SHA256SUMS last.

        Args:
            remarks: Lines below the table of sizes.

        Returns:
            The lines of the table.
        """
        table = ["| file | MB | content |", "|---|---:|---|"]
        table += [
            f"| `{name}` | {size / 2**20:.2f} | {content} |" for name, size, content in sorted(self._rows)
        ]
        text = "\n".join([*table, "", *(f"* {remark}" for remark in remarks)]).rstrip() + "\n"
        (self._ready / SIZES).write_text(text, encoding="utf-8")
        names = sorted(path.name for path in self._ready.iterdir())
        sums = [
            f"{hashlib.sha256((self._ready / name).read_bytes()).hexdigest()}  {name}\n" for name in names
        ]
        (self._ready / SUMS).write_text("".join(sums), encoding="utf-8")
        (self.folder / SUMS).unlink(missing_ok=True)  # an interrupted move leaves no wrong sums
        for name in (*names, SUMS):
            (self._ready / name).replace(self.folder / name)
        return table[2:]
