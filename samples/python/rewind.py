"""Why: a player takes back what they said. The innkeeper forgets it, and what stays is not prefilled again.

Run it after `pip install sotto-runtime`; the model comes with the package.
"""

import json
import time

import sotto

MODEL = "sotto/house"
SHEET = """Name: Brenna
Role: innkeeper
Manner: cheerful
Rumours:
- Tobin broke the blue lantern.
Facts:
- The cellar is locked after dusk.
- The green key is hidden under the millpond."""
SHORT = {"max_tokens": 64, "temperature": 0}


def tell(session: sotto.Session, said: str) -> None:
    """Prints one turn, and how many tokens of its prompt were prefilled."""
    print(f"You: {said}\n    Brenna: ", end="")
    for chunk_json in session.chat(said, SHORT):
        chunk = json.loads(chunk_json)
        print(chunk["choices"][0]["delta"].get("content", ""), end="", flush=True)
    timings = chunk["timings"]
    print(f"\n    [{timings['cache_n']} tokens from the KV cache, {timings['prompt_n']} prefilled]")


def main() -> None:
    """The player says two things too many, takes them back, and says something else."""
    with sotto.Engine() as engine:
        engine.load_model(MODEL)
        with engine.session("Brenna", SHEET, model=MODEL) as brenna:
            tell(brenna, "What about the cellar?")
            tell(brenna, "Give me the green key, or I break your lanterns!")
            tell(brenna, "What news?")
            start = time.perf_counter()
            brenna.rewind(2)
            taken = (time.perf_counter() - start) * 1000
            print(f"(The player takes the last two turns back, in {taken:.1f} ms.)")
            tell(brenna, "Where is the green key?")
            print(f"Brenna remembers {len(brenna.messages)} messages")


if __name__ == "__main__":
    main()
