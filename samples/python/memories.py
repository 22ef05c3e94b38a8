"""A character finds the memory that matters to a line. Run `sotto models pull minilm` first.

python samples/python/memories.py "Do you know why there is no bread?"
"""

import sys

import sotto

MEMORIES = [
    "The visitor brought you a kettle last spring.",
    "The mill burnt down in the storm, and nobody grinds corn now.",
    "Your brother keeps the ferry on the north bank.",
    "A stranger asked twice about the cellar.",
]


def main() -> None:
    """Prints the memories, the nearest to the line first."""
    line = " ".join(sys.argv[1:]) or "Do you know why there is no bread?"
    with sotto.Engine() as engine:
        engine.load_model("sotto/minilm")
        (asked, *known) = engine.embeddings([line, *MEMORIES]).vectors
    near = [sum(a * b for a, b in zip(asked, vector, strict=True)) for vector in known]
    for cosine, memory in sorted(zip(near, MEMORIES, strict=True), reverse=True):
        print(f"{cosine:5.2f}  {memory}")


if __name__ == "__main__":
    main()
