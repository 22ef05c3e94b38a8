"""A backend in Python: a scripted innkeeper, run by the engine like any model."""

from collections.abc import Iterator

import sotto
from sotto.backends import Backend, Model, ModelInfo, Request, Source

ANSWERS = {
    "ale": "Ale is three copper, friend.",
    "room": "A room is nine copper, and the stairs are steep.",
    "road": "The road north is closed until the thaw.",
}


class Innkeeper(Model):
    """Answers by keyword, one word a step."""

    info = ModelInfo(streams=4, weights=4096)

    def chat(self, request: Request) -> Iterator[str]:
        """Answers a chat."""
        asked = request.text.lower()
        answer = next((said for word, said in ANSWERS.items() if word in asked), "Ask me about the inn.")
        for number, word in enumerate(answer.split()):
            if request.cancelled():
                return
            yield word if number == 0 else f" {word}"


class Inn(Backend):
    """Opens innkeepers, from nothing."""

    name = "inn"

    def open(self, source: Source) -> Model:
        """Opens one."""
        return Innkeeper()


if __name__ == "__main__":
    with sotto.Engine() as engine:
        engine.add_backend(Inn())
        engine.load_model("innkeeper", path="-", backend="inn")
        for question in ("How much is an ale?", "Do you have a room?", "Any news?"):
            print(f"> {question}\n{engine.chat(question, model='innkeeper', max_tokens=40).text}")
