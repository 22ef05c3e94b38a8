"""Why: an innkeeper remembers what was said to her. What she then tells a neighbour, the player never hears.

Run it after `pip install sotto-runtime`; the model comes with the package.
"""

import json

import sotto

MODEL = "sotto/house"
SHEET = """Name: Brenna
Role: innkeeper
Manner: cheerful
Rumours:
- Tobin broke the blue lantern.
Facts:
- The cellar is locked after dusk.
- The green key is hidden under the millpond.
- Tobin broke the blue lantern."""
SHORT = {"max_tokens": 64, "temperature": 0}


def tell(who: str, session: sotto.Session, said: str) -> None:
    """One turn, word by word; and how much of it had to be worked through."""
    print(f"{who}: {said}\n    Brenna: ", end="")
    for chunk_json in session.chat(said, SHORT):
        chunk = json.loads(chunk_json)
        print(chunk["choices"][0]["delta"].get("content", ""), end="", flush=True)
    timings = chunk["timings"]
    print(f"\n    [{timings['cache_n']} tokens remembered, {timings['prompt_n']} new]")


def main() -> None:
    """The player talks, a neighbour listens, and the player goes on."""
    with sotto.Engine() as engine:
        engine.load_model(MODEL)
        with engine.session("Brenna", SHEET, model=MODEL) as brenna:
            tell("You", brenna, "What about the cellar?")
            tell("You", brenna, "Where is the green key?")
            with brenna.fork() as gossip:  # begins with all that was said, and goes its own way
                tell("A neighbour", gossip, "Who broke the blue lantern?")
            tell("You", brenna, "What news?")
            print(
                f"Brenna remembers {len(brenna.messages)} messages; {len(engine.sessions())} session is open"
            )


if __name__ == "__main__":
    main()
