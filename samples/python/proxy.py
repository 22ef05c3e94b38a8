"""Why: a model on a server speaks like a local one: paced, cancelled, and replaced if the server is away.

Start any server with OpenAI's API, such as `llama-server -m model.gguf`, and name its address and model.
Without a server, the house model answers. Run it after `pip install sotto-runtime`:

    python proxy.py http://127.0.0.1:8080/v1 qwen3
"""

import json
import os
import sys

import sotto

SHEET = "Name: Odo\nRole: watchman at the north gate\nManner: weary\nNews:\n- the bridge has fallen"


def say(engine: sotto.Engine, model: str, line: str) -> None:
    """Prints an answer at reading pace."""
    messages = [{"role": "system", "content": SHEET}, {"role": "user", "content": line}]
    request = {"model": model, "messages": messages, "max_tokens": 60, "temperature": 0.7}
    for chunk in engine.llm_chat_completion_stream(request, target_tps=12):
        delta = json.loads(chunk)["choices"][0]["delta"]
        print(delta.get("content") or "", end="", flush=True)
    print()


def main() -> None:
    """Asks the server, or the house model."""
    url = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080/v1"
    model = sys.argv[2] if len(sys.argv) > 2 else "default"
    quick = {"connect_timeout_ms": 500, "max_retries": 0}
    studio = sotto.Backend.proxy("studio", url, os.environ.get("STUDIO_KEY"), options=quick)
    with sotto.Engine(backends=[sotto.Backend.in_memory(), studio]) as engine:
        try:
            say(engine, f"studio::{model}", "Good evening. What news?")
        except sotto.SottoError as error:
            print(f"[{error}]")
            engine.load_model("sotto/house")
            say(engine, "sotto/house", "Good evening. What news?")


if __name__ == "__main__":
    main()
