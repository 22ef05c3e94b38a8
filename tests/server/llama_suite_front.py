"""Starts a server for llama.cpp's tests, and puts local models in the place of those that they download.

LLAMA_SUITE names a JSON file: `server` (a command), `presets` (paths by repository) and `downloads` (paths by
name of a file).
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any


def replaced(words: list[str], files: dict[str, Any]) -> list[str]:
    """Returns a server's arguments with `--model` in the place of a repository or an address."""
    kept: list[str] = []
    found: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        if word in ("--hf-repo", "--hf-file", "--model-url", "--mmproj-url"):
            found[word] = next(rest)
        else:
            kept.append(word)
    projects = "--no-mmproj" not in kept
    if "--hf-repo" in found:
        name = "/".join(found[key] for key in ("--hf-repo", "--hf-file") if key in found)
        if name not in files["presets"]:
            sys.exit(f"no local file for {name}")
        model, *projector = files["presets"][name]
        kept += ["--model", model, *(["--mmproj", *projector] if projector and projects else [])]
    for option, ours in (("--model-url", "--model"), ("--mmproj-url", "--mmproj")):
        if option in found:
            name = found[option].rsplit("/", 1)[-1]
            if name not in files["downloads"]:
                sys.exit(f"no local file for {name}")
            kept += [ours, files["downloads"][name]]
    return kept


def main() -> None:
    """Becomes the server."""
    files = json.loads(Path(os.environ["LLAMA_SUITE"]).read_text(encoding="utf-8"))
    command = [*files["server"], *replaced(sys.argv[1:], files)]
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
