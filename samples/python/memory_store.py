"""Why: a character remembers what was said days ago, and the memory is there after a restart.

Each run tells the character one thing and asks for what it knows about it. The store finds memories by their
words, the newer and the more important ones first. With embeddings of a model beside the words
(`embedding=`), it also finds what is meant but not said. Run it twice:

    python memory_store.py "I lost my silver ring at the old well."
    python memory_store.py "Did you find anything at the well?"
"""

import sys
import time

import sotto

FOLDER = "saves"
WEIGHTS = {"relevance": 1.0, "recency": 0.3, "importance": 0.3}
DAY_S = 86_400


def main() -> None:
    """Recalls what fits the player's line, then remembers the line."""
    line = " ".join(sys.argv[1:]) or "I lost my silver ring at the old well."
    with sotto.Store.open("mara", folder=FOLDER) as store:
        for match in store.query(line, limit=3, weights=WEIGHTS, half_life_s=3 * DAY_S, touch=True):
            days = (time.time() - match.entry.created_ms / 1000) / DAY_S
            print(f"Mara remembers ({match.score:.2f}, {days:.1f} days ago): {match.entry.value}")
        important = 0.9 if "?" not in line else 0.3  # a question says little
        store.insert(line, key="player", importance=important, metadata={"question": "?" in line})
        print(f"Mara now knows {store.count()} things.")


if __name__ == "__main__":
    main()
