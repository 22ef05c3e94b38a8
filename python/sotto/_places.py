"""Where stores are: the user's data folder, and the paths of stores that are elsewhere."""

from __future__ import annotations

import os
import sys

from ._desc import StrPath, path_text
from ._values import string
from .errors import ArgumentError


def default_folder() -> str:
    """Returns the folder of stores that are opened without one."""
    return os.environ.get("SOTTO_STORE_DIR") or os.path.join(data_folder(), "stores")


def data_folder() -> str:
    """Returns the folder of this user's data."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~\\AppData\\Local")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Application Support")
    else:
        base = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return os.path.join(base, "sotto")


def place_of(store_id: StrPath, folder: StrPath | None) -> tuple[str, str]:
    """Returns the folder and the name of a store that was given by its name, or by the path of its file."""
    name = string("store_id", os.fspath(store_id))
    where, file = os.path.split(os.path.expanduser(name))
    if file.endswith(".db") and (where or isinstance(store_id, os.PathLike)):
        if folder is not None:
            raise ArgumentError(
                f"invalid folder '{os.fspath(folder)}': expected None, because store_id is a path; pass one"
            )
        return where or ".", file.removesuffix(".db")
    return folder_of(folder), name


def folder_of(folder: StrPath | None) -> str:
    """Returns a folder as text; the default one for None."""
    return default_folder() if folder is None else path_text("folder", folder)
