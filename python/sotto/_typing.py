"""Names for annotations that `typing.get_type_hints()` must resolve at run time."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 11):
    from typing import Unpack
else:
    from typing_extensions import Unpack

__all__ = ["Unpack"]
