"""Writes the vocabularies of stable-diffusion.cpp's tokenizers, which are C arrays of 70 MB, as binary files.

A compiler needs gigabytes and minutes for the arrays. Usage: vocabularies.py FOLDER_OF_HEADERS OUTPUT_FOLDER
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

_ARRAY = re.compile(r"static const unsigned char (\w+)\[\] = \{([^}]*)\};")


def main(headers: Path, output: Path) -> None:
    """Writes each array of a header of `headers` to a file of its name in `output`."""
    for header in ("clip_t5", "mistral", "qwen"):
        text = (headers / f"{header}.hpp").read_text(encoding="ascii")
        for name, values in _ARRAY.findall(text):
            digits = values.translate({ord(one): None for one in " \r\n\t,"}).replace("0x", "")
            (output / f"{name}.bin").write_bytes(bytes.fromhex(digits))


main(Path(sys.argv[1]), Path(sys.argv[2]))
