"""Why: the player saves, quits and comes back another day; the innkeeper still knows what was said.

Run it after `pip install sotto-runtime`; the model comes with the package.
"""

import sys
import tempfile
from pathlib import Path

import sotto

MODEL = "sotto/house"
SHEET = """Name: Brenna
Role: innkeeper
Manner: cheerful
Facts:
- The cellar is locked after dusk.
- The green key is hidden under the millpond."""
SHORT = {"max_tokens": 64, "temperature": 0}


def first_evening(slot: Path) -> None:
    """The player talks, and saves."""
    with sotto.Engine() as engine:
        engine.load_model(MODEL)
        brenna = engine.session("Brenna", SHEET, model=MODEL)
        print("You: What about the cellar?\nBrenna:", brenna.say("What about the cellar?", SHORT))
        saved = engine.save_game(slot)
        print(f"[saved {saved.sessions} character, {saved.messages} messages, {saved.bytes} bytes]")


def another_day(slot: Path) -> None:
    """The game was restarted: the conversation goes on where it ended."""
    with sotto.Engine() as engine:
        engine.load_model(MODEL)
        engine.restore_game(slot)
        brenna = sotto.Session(engine, "Brenna")
        print(f"[restored {len(brenna.messages)} messages]")
        print("You: Where is the green key?\nBrenna:", brenna.say("Where is the green key?", SHORT))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        slot = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder) / "slot1.sotto"
        first_evening(slot)
        another_day(slot)
