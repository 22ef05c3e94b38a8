"""Compares how the Unity package and the Unreal plugin split text into sentences."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

from checks.ground import ROOT, Failed, run
from dotnet.toolchain import run_mono

PLUGIN = ROOT / "unreal/Sotto/Source/SottoRuntime/Private"
RANDOM = 3000
SEED = 12
# Both engines know these. Unity's also closes with `}` and `』`, and trims all white space of Unicode.
PIECES = (
    *("Ask", "Mr", "mrs", "DR", "e.g", "i.e", "I", "J", "St", "3", "50"),
    *("vs", "well", "夜", "行け", "قال", "👍🏽"),
    *"...!?…。\uff01\uff1f؟\u06d4।,:",
    *"\"')]*(「」”\u2019»\u200e\u200f",
    *(" ", " ", " ", " ", "\n", "\t", "a\u00a0b", "a\u3000b"),
)
TABLE = (
    "Welcome! Stew is 4 copper. Sit down",
    'Who? Me?! "No." he said.',
    "one\ntwo\n\n",
    "Well... perhaps. ",
    "Ask Mr. Odo. He knows.",
    "J. R. Brightwater owns it. Truly.",
    "So do I. And you?",
    "「行け。」と言った。",
    "こんにちは。元気\uff1fはい\uff01",
    "مرحبا! كيف حالك؟ بخير.",
)
DRIVER = """#include <fstream>
#include <iostream>

#include "Core/Sentences.h"

int main(int, char** arguments) {
    std::ifstream file(arguments[1]);
    for (std::string line; std::getline(file, line);) {
        for (auto at = line.find("\\\\n"); at != std::string::npos; at = line.find("\\\\n", at)) {
            line.replace(at, 2, "\\n");
        }
        SottoCore::FSentences splitter;
        std::vector<std::string> found;
        splitter.Feed(line, found);
        splitter.Finish(found);
        for (std::size_t i = 0; i < found.size(); ++i) {
            std::cout << (i > 0 ? "|" : "") << found[i];
        }
        std::cout << '\\n';
    }
}
"""


def texts() -> list[str]:
    """The table, and texts of random pieces."""
    dice = random.Random(SEED)
    return [*TABLE, *("".join(dice.choices(PIECES, k=dice.randint(1, 20))) for _ in range(RANDOM))]


def compile_plugin(folder: Path) -> Path:
    """A program that prints the sentences of each line of a file, by the plugin's code."""
    driver, program = folder / "sentences.cpp", folder / "sentences"
    driver.write_text(DRIVER)
    sources = [driver, PLUGIN / "Core/Sentences.cpp"]
    run(["g++", "-std=c++20", "-O1", f"-I{PLUGIN}", *sources, "-o", program])
    return program


def compare(suite: Path, folder: Path, env: dict[str, str]) -> str:
    """Compares the two.

    Args:
        suite: The program of tests/csharp/suite, for Mono.
        folder: Where to write files.
        env: The program's environment variables.

    Returns:
        One line of figures.
    """
    if shutil.which("g++") is None:
        return "sentences: not compared with Unreal's, g++ is missing"
    lines = [text.replace("\n", "\\n") for text in texts()]
    path = folder / "texts.txt"
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    unity = run_mono(suite, "--sentences", path, env=env).split("\n")
    unreal = run([compile_plugin(folder), path]).split("\n")
    for line, ours, theirs in zip(lines, unity, unreal, strict=False):
        if ours != theirs:
            raise Failed(f"sentences of {line!r}: Unity {ours!r}, Unreal {theirs!r}")
    if not len(lines) <= min(len(unity), len(unreal)):
        raise Failed(f"{len(lines)} texts, but {len(unity)} and {len(unreal)} lines")
    return f"sentences: {len(lines)} texts as Unreal's"
