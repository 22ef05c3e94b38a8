"""Names for annotations, which `typing.get_type_hints()` finds while a program runs."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 11):
    from typing import Unpack
else:
    from typing_extensions import Unpack

__all__ = ["Unpack"]
