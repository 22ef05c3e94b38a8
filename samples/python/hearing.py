"""A player speaks, a character hears it and answers. Needs pip install 'sotto-runtime[ctranslate2]'."""

import argparse

import sotto
from sotto.backends.ctranslate2 import CTranslate2

SHEET = """\
Name: Brenna Oakhollow
Role: innkeeper
Place: the Kettle and Crow, Millbrook
Prices:
- ale: 2 copper
- a bed for the night: 9 copper
"""
REQUEST = {"max_tokens": 60, "temperature": 0}


def main() -> None:
    """Hears each file, and prints what the character answers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", help="WAV, FLAC, OGG or MP3 files of speech")
    parser.add_argument("--ears", required=True, metavar="DIR", help="folder of a converted Whisper model")
    arguments = parser.parse_args()
    # Two engines: while the ears hear a line, the character is not kept from speaking.
    with sotto.Engine("cpu") as ears, sotto.Engine() as engine:
        ears.add_backend(CTranslate2())
        ears.load_model("ears", path=arguments.ears, backend="ctranslate2", options={"compute_type": "int8"})
        engine.load_model("sotto/house")
        brenna = engine.session("brenna", SHEET, model="sotto/house")
        for file in arguments.files:
            heard = ears.transcribe(file, prompt="Brenna, Millbrook, copper").text
            print(f"Player: {heard}")
            print(f"Brenna: {brenna.say(heard, REQUEST) if heard else '...'}")


if __name__ == "__main__":
    main()
