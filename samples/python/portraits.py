"""A portrait of each character of a tavern, painted in the background and kept in the save game.

Run `python portraits.py --model FOLDER --backend diffusers --saves saves`, or name another backend's model.
A portrait is painted once: its file's name has a hash of all that decides how it looks. The save game
holds the files too, so that they come back on another machine.
"""

import argparse
import contextlib
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import sotto

STYLE = "oil painting, head and shoulders, warm candle light, plain dark background"
NEGATIVE = "text, frame, several people"
SIZE = (256, 256)
CAST = {  # what the sheet of each character says of their looks
    "Brenna": "a cheerful innkeeper of fifty, red cheeks, grey braid, flour on her apron",
    "Garrick": "a gruff blacksmith, burnt forearms, black beard, leather cap",
    "Silvane": "a quiet herbalist, green hood, freckles, a sprig of thyme behind the ear",
    "Pip": "a boy of ten, gap in his teeth, tousled straw hair, a borrowed coat",
}


def file_of(folder: Path, name: str, request: dict[str, object]) -> Path:
    """Returns the name of a portrait's file: the same for the same request alone."""
    mark = hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()[:12]
    return folder / f"{name.lower()}-{mark}.png"


def requests(model: str, folder: Path) -> Iterator[tuple[str, Path, dict[str, object]]]:
    """Yields the name, the file and the request of each portrait."""
    for number, (name, looks) in enumerate(CAST.items()):
        request: dict[str, object] = {
            "model": model,
            "prompt": f"portrait of {looks}, {STYLE}",
            "negative_prompt": NEGATIVE,
            "size": f"{SIZE[0]}x{SIZE[1]}",
            "seed": 100 + number,  # a character keeps their face when the game is installed again
        }
        yield name, file_of(folder, name, request), request


def portraits(engine: sotto.Engine, model: str, folder: Path) -> Iterator[tuple[str, Path, bool]]:
    """Yields the name and the file of each portrait, and whether it was painted now.

    A game calls this on a thread: a portrait takes seconds to minutes, in slices that its frames leave free.
    """
    for name, path, request in requests(model, folder):
        missing = not path.exists()
        if missing:
            body = {**request, "response_format": "file", "path": str(path)}
            engine.image_generate(body, priority="background")
        yield name, path, missing


def evening(engine: sotto.Engine, model: str, saves: Path) -> None:
    """Restores the game, paints the portraits that are missing, and saves the game with all of them."""
    slot, folder = saves / "slot1.sotto", saves / "portraits"
    folder.mkdir(parents=True, exist_ok=True)
    files = {path.name: path for _, path, _ in requests(model, folder)}
    if slot.exists():
        with contextlib.suppress(sotto.SottoError):  # a save game of other portraits
            engine.restore_game(slot, files=files)
    for name, path, painted in portraits(engine, model, folder):
        print(f"{name}: {path}{'' if painted else ', from an earlier evening'}")
    engine.save_game(slot, files=files)


def main() -> None:
    """Paints what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", required=True, help="file or folder of a model that generates images")
    parser.add_argument("--backend", help="diffusers, or a native backend (found from the file)")
    parser.add_argument("--saves", type=Path, default=Path("saves"), help="folder of save games (saves)")
    arguments = parser.parse_args()
    with sotto.Engine() as engine:
        if arguments.backend == "diffusers":
            from sotto.backends.diffusers import Diffusers

            engine.add_backend(Diffusers())
        engine.load_model("painter", path=arguments.model, backend=arguments.backend)
        evening(engine, "painter", arguments.saves)


if __name__ == "__main__":
    main()
