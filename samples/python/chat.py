"""Why: the shortest way from nothing to a character that speaks, word by word, in your own process.

Run it after `pip install sotto-runtime`; the model comes with the package:

    python chat.py "How much is a bed for the night?"
"""

import json
import sys

import sotto

CHARACTER = """\
Name: Brenna Oakhollow
Role: innkeeper
Manner: cheerful
Place: the Kettle and Crow, Millbrook
Prices:
- ale: 2 copper
- stew: 4 copper
- a bed for the night: 9 copper
Facts:
- The cellar is locked after dusk."""


def main() -> None:
    """Asks one question and prints the answer while it is being spoken."""
    question = " ".join(sys.argv[1:]) or "How much is a bed for the night?"
    request = json.dumps(
        {
            "model": "sotto/house",
            "messages": [
                {"role": "system", "content": CHARACTER},
                {"role": "user", "content": question},
            ],
            "max_tokens": 64,
            "temperature": 0,
        }
    )
    with sotto.Engine() as engine:
        engine.load_model("sotto/house")
        for chunk in engine.llm_chat_completion_stream(request):
            delta = json.loads(chunk)["choices"][0]["delta"]
            print(delta.get("content", ""), end="", flush=True)
    print()


if __name__ == "__main__":
    main()
