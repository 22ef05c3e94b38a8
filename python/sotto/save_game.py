"""Save games: all conversations of an engine in one file, with stores of memories and files of the game."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ._asking import Asks
from ._desc import StrPath, path_text
from ._handle import Request
from ._json import load
from ._lib import lib
from ._values import invalid, typed, wrong_type
from .errors import ArgumentError, SottoError
from .store import Store

if TYPE_CHECKING:
    from pathlib import Path

Advance = Callable[[float], None]  # called with a fraction from 0 to 1
Files = Mapping[str, StrPath]  # paths by the names that the save game has
NO_FILES: Files = MappingProxyType({})


class SavedGame(NamedTuple):
    """What was saved or restored.

    Attributes:
        path: The file.
        sessions: Number of sessions.
        responses: Number of stored responses of the Responses API.
        messages: Number of messages; those that conversations share count once.
        kv_states: Number of sessions with their KV cache. The others are prefilled from their text.
        files: Number of files in it, stores included.
        bytes: Size of the file.
    """

    path: str
    sessions: int
    responses: int
    messages: int
    kv_states: int
    files: int
    bytes: int


class SavesGames(Asks):
    """Part of `Engine`: save games."""

    def save_game(
        self,
        path: StrPath,
        *,
        stores: Iterable[Store] = (),
        files: Files = NO_FILES,
        progress: Advance | None = None,
    ) -> SavedGame:
        """Saves all conversations to a file, and waits until it is on the disk. Characters go on meanwhile.

        The file has every session and stored response, KV caches that are parked in memory, and the stores
        and files that are given. It replaces an earlier one only when it is complete.

        Args:
            path: The file.
            stores: Stores of memories whose entries are saved too, each with an id of its own.
            files: Files of the game to copy into it, by names of 1 to 128 bytes.
            progress: Called with a fraction from 0 to 1.

        Returns:
            What was saved.

        Raises:
            ValueError: The path is that of a folder, a link or a device, or two stores have one id.
            StoreError: A store cannot be read.
            SottoError: The file cannot be written; an earlier one is unchanged.
        """
        with copies(stores, files) as (made, named):
            for store, copy in made:
                store.backup(copy)
            return self._game("save_game", path, named, progress)

    def restore_game(
        self,
        path: StrPath,
        *,
        stores: Iterable[Store] = (),
        files: Files = NO_FILES,
        progress: Advance | None = None,
    ) -> SavedGame:
        """Restores the conversations of a save game, for `Session` objects made with their ids.

        Load the models before. A session that is open with the id of a restored one is closed first. Nothing
        changes unless the whole file is valid.

        Args:
            path: A file of `save_game()`.
            stores: Open stores whose entries are replaced by those that were saved of the store with their
                id, after the conversations.
            files: Where to write files that were saved, by their names.
            progress: Called with a fraction from 0 to 1.

        Returns:
            What was restored.

        Raises:
            SottoError: There is no such file, or it is damaged, no save game, or of a newer version; or it
                lacks one of `stores` or `files`.
            StoreError: A store cannot be written, or has another `dim`. The conversations are restored.
        """
        with copies(stores, files) as (made, named):
            restored = self._game("restore_game", path, named, progress)
            for store, copy in made:
                store.restore(copy)
            return restored

    def _game(self, op: str, path: StrPath, files: Files, progress: Advance | None) -> SavedGame:
        desc = self._request_desc(op, game_body(path, files), lib.SOTTO_REQUEST_PRIVATE, {})
        request = Request(self._handle, SottoError, lib.sotto_engine_submit, desc)
        return read_saved(request.finish(progress).json)


def read_saved(response: str) -> SavedGame:
    """Reads the result of saving or restoring a game."""
    return SavedGame(**load(response))


def game_body(path: StrPath, files: Files) -> dict[str, object]:
    """Returns the request's body."""
    named = {name: path_text(f"files.{name}", file) for name, file in files.items()}
    return {"path": path_text("path", path), **({"files": named} if named else {})}


@contextmanager
def copies(stores: Iterable[Store], files: Files) -> Iterator[tuple[list[tuple[Store, Path]], Files]]:
    """Gives each store a temporary file, which exists inside the context.

    Yields:
        The stores with their files, and `files` with these files.

    Raises:
        ArgumentError: Two files have one name.
    """
    import tempfile  # lazy, as importing it takes long
    from pathlib import Path

    with tempfile.TemporaryDirectory(prefix="sotto-") as folder:
        found: list[tuple[Store, Path]] = []
        if not isinstance(files, Mapping):
            raise wrong_type("files", files, "a mapping of names to paths")
        named = dict(files)
        given = list(stores) if isinstance(stores, Iterable) else [stores]
        for at, store in enumerate(given):
            typed(f"stores[{at}]", store, Store)
            name = f"store/{store.id}"
            if name in named:
                raise ArgumentError(invalid("stores", store.id, "stores whose ids differ"))
            copy = Path(folder) / store.id  # errors name it
            found.append((store, copy))
            named[name] = copy
        yield found, named
