"""Why: a player must not spoil the story, and an innkeeper must not tell it: verdicts, and checked answers.

Run it after `pip install sotto-runtime`; the model comes with the package.
"""

import sotto

MODEL = "sotto/house"
SHEET = """Name: Brenna
Role: innkeeper
Manner: cheerful
Facts:
- The green key is hidden under the millpond."""
GUARDRAILS = {
    "input": [{"type": "phrases", "phrases": ["red wizard"], "category": "spoiler"}],
    "output": [
        {"type": "phrases", "name": "secrets", "phrases": ["millpond"]},
        {"type": "regex", "patterns": [r"\b\d{3,}\b"], "action": "rewrite", "replacement": "many"},
    ],
}


def ask(engine: sotto.Engine, said: str) -> None:
    """One question; a blocked one never reaches the model."""
    print(f"You: {said}")
    messages = [{"role": "system", "content": SHEET}, {"role": "user", "content": said}]
    try:
        answer = engine.chat(messages, model=MODEL, max_tokens=48, temperature=0)
    except sotto.InferenceError as error:
        print(f"    [{error}]")
        return
    print(f"    Brenna: {answer.text} [{answer.finish_reason}]")


def main() -> None:
    """Verdicts of a guard alone, then of an engine's requests and answers."""
    guard = sotto.Guard(GUARDRAILS)
    for text in ("Good evening!", "Is the r3d w.i.z.a.r.d here?"):
        verdict = guard.check(text)
        print(f"{text!r}: {verdict.action} {verdict.category or ''}")
    with sotto.Engine(guardrails=GUARDRAILS) as engine:
        engine.load_model(MODEL)
        ask(engine, "Is the red wizard here?")
        ask(engine, "Where is the green key?")


if __name__ == "__main__":
    main()
