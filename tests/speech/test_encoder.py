"""all-MiniLM-L6-v2, real weights: the vectors of sentence-transformers, and what is refused."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
import yaml
from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

import sotto
from conftest import MODEL
from sotto import cli
from sotto.backends import check
from sotto.backends._cases import CASES, Target
from sotto.backends.ctranslate2 import CTranslate2

CORPUS = Path(__file__).parents[2] / "samples" / "house_model" / "corpus" / "lines"
OPTIONS = {"compute_type": "float32"}


def sentences(count: int) -> list[str]:
    """Lines that visitors say, from the corpus of the house model."""
    lines = [
        str(line)
        for file in sorted(CORPUS.glob("*.yaml"))
        for line in yaml.safe_load(file.read_text())["lines"]
    ]
    return random.Random(7).sample(lines, count)


def cosines(ours: Any, theirs: Any) -> np.ndarray[Any, Any]:
    """Cosine of each pair of vectors."""
    a, b = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
    return (a * b).sum(axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)


def vectors(engine: sotto.Engine, texts: str | list[str], **fields: Any) -> np.ndarray[Any, Any]:
    """The vectors of texts."""
    return np.array(engine.embeddings(texts, model="mind", **fields).vectors)


@pytest.fixture(scope="session")
def mind(minilm: Path) -> Iterator[sotto.Engine]:
    """An engine with the loaded model, which tests leave as it is."""
    with sotto.Engine("cpu") as made:
        made.add_backend(CTranslate2())
        made.load_model("mind", path=minilm, backend="ctranslate2", options=OPTIONS)
        yield made


@pytest.fixture(scope="session")
def stock(minilm_source: Path) -> SentenceTransformer:
    """sentence-transformers' own."""
    return SentenceTransformer(str(minilm_source), device="cpu", local_files_only=True)


def test_vectors_are_those_of_sentence_transformers(
    mind: sotto.Engine, stock: SentenceTransformer, engine: sotto.Engine, minilm: Path
) -> None:
    texts = sentences(200)
    theirs = stock.encode(texts)
    began = time.perf_counter()
    ours = vectors(mind, texts)
    seconds = time.perf_counter() - began
    engine.load_model("mind", path=minilm, backend="ctranslate2", options={"compute_type": "int8"})
    float32, int8 = cosines(ours, theirs), cosines(vectors(engine, texts), theirs)
    print(
        f"\nspeech: least cosine of {len(texts)} vectors to sentence-transformers' {float32.min():.6f}, "
        f"in int8 {int8.min():.3f}, {1000 * seconds / len(texts):.1f} ms a text"
    )
    assert float32.min() >= 0.999
    assert int8.min() >= 0.95


def test_a_folder_that_sentence_transformers_saves_is_read(
    engine: sotto.Engine, stock: SentenceTransformer, tmp_path: Path
) -> None:
    stock.save(str(tmp_path / "saved"))  # in the form of version 6; the original is of version 2
    assert cli.main(["convert", str(tmp_path / "saved"), "--to", "ctranslate2", str(tmp_path / "made")]) == 0
    engine.load_model("mind", path=tmp_path / "made", backend="ctranslate2")
    texts = [*sentences(5), "soup " * 1000]
    assert cosines(vectors(engine, texts), stock.encode(texts)).min() >= 0.999
    assert engine.embeddings(texts[-1], model="mind").raw["usage"]["prompt_tokens"] == 256


def test_the_default_prompt_and_another_pooling_folder_are_read(
    engine: sotto.Engine, minilm_source: Path, tmp_path: Path
) -> None:
    stock = SentenceTransformer(
        str(minilm_source),
        device="cpu",
        prompts={"query": "Find what Answers: "},
        default_prompt_name="query",
        local_files_only=True,
    )
    stock.save(str(tmp_path / "saved"))
    (tmp_path / "saved" / "1_Pooling").rename(tmp_path / "saved" / "2_Pooling")
    pooling = tmp_path / "saved" / "2_Pooling" / "config.json"
    modules = json.loads((tmp_path / "saved" / "modules.json").read_text())
    modules[1]["path"] = "2_Pooling"
    (tmp_path / "saved" / "modules.json").write_text(json.dumps(modules))
    pooling.write_text(pooling.read_text().replace('"mean"', '"cls"'))
    right = SentenceTransformer(str(tmp_path / "saved"), device="cpu", local_files_only=True)
    command = ["convert", str(tmp_path / "saved"), "--to", "ctranslate2", str(tmp_path / "made")]
    assert cli.main(command) == 0
    assert cli.main([*command, "--force"]) == 0  # the folder is one that a conversion writes
    engine.load_model("mind", path=tmp_path / "made", backend="ctranslate2")
    texts = [*sentences(5), "soup " * 1000]
    assert np.allclose(vectors(engine, texts), right.encode(texts), atol=1e-4)
    assert not np.allclose(stock.encode(texts), right.encode(texts), atol=1e-2)
    assert not np.allclose(right.encode(texts, prompt=""), right.encode(texts), atol=1e-2)


def test_odd_texts_have_the_vectors_of_sentence_transformers(
    mind: sotto.Engine, stock: SentenceTransformer
) -> None:
    texts = [
        *("", " ", "\n\t", "\0", "e\u0301\u0300", "\u202eright to left\u2069", "\U0001f469\u200d\U0001f680"),
        *(
            "\ufeffbom",
            "\u4f60\u597d\uff0c\u4e16\u754c",
            "\ufdfd" * 40,
            "[MASK] [CLS]",
            "a" * 5000,
            "\U0010ffff",
        ),
        "soup " * 1000,
        " " * 100_000 + "soup",
    ]
    assert cosines(vectors(mind, texts), stock.encode(texts)).min() >= 0.999


def test_a_text_of_a_megabyte_is_cut_at_the_model_s_maximum(
    mind: sotto.Engine, stock: SentenceTransformer
) -> None:
    text = "".join(f"line {at} of the ledger, " for at in range(50_000))[: 1 << 20]
    began = time.perf_counter()
    made = mind.embeddings(text, model="mind")
    print(f"\nspeech: a text of 1 MB is embedded in {1000 * (time.perf_counter() - began):.0f} ms")
    assert made.raw["usage"] == {"prompt_tokens": 256, "total_tokens": 256}
    assert cosines(made.vectors, stock.encode([text])).min() >= 0.999


def test_the_response_is_openai_s(mind: sotto.Engine) -> None:
    made = mind.embeddings(["a bed", "two beds for the night"], model="mind")
    assert made.raw["object"] == "list" and made.raw["model"] == "mind"
    assert [(one["object"], one["index"]) for one in made.raw["data"]] == [("embedding", 0), ("embedding", 1)]
    assert made.raw["usage"] == {"prompt_tokens": 4 + 7, "total_tokens": 4 + 7}
    coded = mind.embeddings("a bed", model="mind", encoding_format="base64")
    assert isinstance(coded.raw["data"][0]["embedding"], str)
    assert np.allclose(coded.vectors[0], vectors(mind, "a bed")[0], atol=1e-6)


def test_dimensions_keep_the_first_values_normalised(mind: sotto.Engine) -> None:
    whole, cut = vectors(mind, "a bed")[0], vectors(mind, "a bed", dimensions=64)[0]
    assert np.allclose(cut, whole[:64] / np.linalg.norm(whole[:64]), atol=1e-6)
    assert np.allclose(vectors(mind, "a bed", dimensions=384)[0], whole, atol=1e-6)
    with pytest.raises(sotto.ArgumentError, match="invalid dimensions '385': expected at most 384"):
        mind.embeddings("a bed", model="mind", dimensions=385)


@pytest.mark.parametrize(
    ("name", "most"),
    [("Bert", 40), ("DistilBert", 40), ("Roberta", 38), ("XLMRoberta", 38), ("Camembert", 38)],
)
def test_other_encoders_compute_what_transformers_does(
    engine: sotto.Engine, tmp_path: Path, name: str, most: int
) -> None:
    torch.manual_seed(3)
    size = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = getattr(transformers, f"{name}Config")(
        **{
            **size,
            "vocab_size": 64,
            "max_position_embeddings": 40,
            "pad_token_id": 1,
            "dim": 64,
            "n_heads": 4,
        }
    )
    model = getattr(transformers, f"{name}Model")(config).eval()
    words = ["<s>", "<pad>", "</s>", "<unk>", *(f"w{at}" for at in range(60))]
    inner = Tokenizer(WordLevel({word: at for at, word in enumerate(words)}, unk_token="<unk>"))
    inner.pre_tokenizer = Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="<unk>")
    model.save_pretrained(tmp_path / "source")
    tokenizer.save_pretrained(tmp_path / "source")
    made = ["convert", str(tmp_path / "source"), "--to", "ctranslate2", str(tmp_path / "made")]
    assert cli.main(made) == 0
    engine.load_model("mind", path=tmp_path / "made", backend="ctranslate2", options=OPTIONS)
    texts = [" ".join(f"w{(7 * at + count) % 60}" for at in range(count)) for count in (1, 20, 100)]
    ours = engine.embeddings(texts, model="mind")
    with torch.no_grad():
        ids = [tokenizer(text, truncation=True, max_length=most)["input_ids"] for text in texts]
        theirs = [model(torch.tensor([one])).last_hidden_state[0].mean(0).numpy() for one in ids]
    assert ours.raw["usage"]["prompt_tokens"] == 1 + 20 + most
    assert np.allclose(ours.vectors, theirs, atol=1e-4)


def test_options_replace_pooling_and_normalisation(
    engine: sotto.Engine, stock: SentenceTransformer, minilm: Path
) -> None:
    options = {**OPTIONS, "pooling": "cls", "normalize": False, "batch_tokens": 16}
    engine.load_model("mind", path=minilm, backend="ctranslate2", options=options)
    texts = sentences(20)
    ours = vectors(engine, texts)
    theirs = [states[0].numpy() for states in stock.encode(texts, output_value="token_embeddings")]
    assert np.allclose(ours, theirs, atol=1e-4)
    assert np.linalg.norm(ours, axis=1).max() > 1.5


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"poolin": "cls"}, "did you mean 'pooling'"),
        ({"pooling": "max"}, "invalid pooling 'max': expected one of mean, cls"),
        ({"normalize": "yes"}, "invalid normalize 'yes'"),
        ({"batch_tokens": 0}, "invalid batch_tokens '0'"),
        ({"compute_type": "int3"}, "invalid compute_type 'int3'"),
        ({"vad": True}, "unknown option 'vad'"),
    ],
)
def test_wrong_options_are_refused(
    engine: sotto.Engine, minilm: Path, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(sotto.SottoError, match=re.escape(said)):
        engine.load_model("mind", path=minilm, backend="ctranslate2", options=options)


def test_damaged_folders_are_refused(engine: sotto.Engine, minilm: Path, tmp_path: Path) -> None:
    def refused(name: str, data: bytes | None) -> str:
        folder = tmp_path / "copy"
        shutil.copytree(minilm, folder)
        (folder / name).unlink()
        if data is not None:
            (folder / name).write_bytes(data)
        with pytest.raises(sotto.ModelLoadError) as error:
            engine.load_model("mind", path=folder, backend="ctranslate2", options=OPTIONS)
        shutil.rmtree(folder)
        return str(error.value)

    weights = (minilm / "model.bin").read_bytes()
    modules = json.dumps([{"type": "sentence_transformers.models.Dense"}]).encode()
    assert "has no tokenizer.json" in refused("tokenizer.json", None)
    assert "tokenizer.json is damaged" in refused("tokenizer.json", b"{")
    assert "it is damaged" in refused("model.bin", weights[: len(weights) // 2])
    assert "modules.json' is damaged" in refused("modules.json", b"[")
    outside = json.dumps([{"type": "a.Pooling", "path": "../1_Pooling"}]).encode()
    assert "modules.json' is damaged" in refused("modules.json", outside)
    config = "config_sentence_transformers.json"
    assert "expected default_prompt_name" in refused(config, b'{"default_prompt_name": "a", "prompts": {}}')
    assert "has a module Dense" in refused("modules.json", modules)
    assert "wants the pooling 'max'" in refused("1_Pooling/config.json", b'{"pooling_mode": "max"}')


def test_a_model_performs_what_its_kind_performs(mind: sotto.Engine, engine: sotto.Engine) -> None:
    engine.load_model("ears", path=MODEL, backend="ctranslate2", options={"compute_type": "int8"})
    with pytest.raises(sotto.SottoError, match="transcribe"):
        engine.embeddings("a bed", model="ears")
    with pytest.raises(sotto.SottoError, match="embed"):
        mind.transcribe(np.zeros(100, np.float32), model="mind")


def test_the_memory_of_the_model_is_told(minilm: Path) -> None:
    script = (
        "import sotto, sys; from sotto.backends.ctranslate2 import CTranslate2; "
        "engine = sotto.Engine('cpu'); engine.add_backend(CTranslate2()); "
        "engine.load_model('mind', path=sys.argv[1], backend='ctranslate2'); "
        "print(engine.memory()['used']); engine.close()"
    )  # in a new process, whose memory no other test has freed
    done = subprocess.run(
        [sys.executable, "-c", script, minilm], check=True, timeout=60, stdout=subprocess.PIPE
    )
    used, size = int(done.stdout), (minilm / "model.bin").stat().st_size
    print(f"\nspeech: an encoder of {size / 2**20:.0f} MB takes {used / 2**20:.0f} MB")
    assert size < used < 2 * size


def test_cancelled_requests_end_at_once_and_free_the_processor(mind: sotto.Engine) -> None:
    dice, longest, texts = random.Random(5), 0.0, sentences(200)
    big = ["soup and bread " * 20_000, *texts]
    for at in range(20):
        request = mind.submit("embed", {"model": "mind", "input": big if at % 2 else texts})
        time.sleep(dice.random() * 0.3)
        began = time.perf_counter()
        mind.cancel(request)
        kinds: list[str] = []
        while "request_done" not in kinds:
            assert mind.wait(20)
            kinds += [event.kind for event in mind.events() if event.request == request]
        longest = max(longest, time.perf_counter() - began)
    began = time.perf_counter()
    mind.embeddings("a bed", model="mind")
    next_one = time.perf_counter() - began
    print(
        f"\nspeech: cancelled embeddings end in {1000 * longest:.0f} ms, then {1000 * next_one:.0f} ms a text"
    )
    assert longest < 0.1
    assert next_one < 1
    assert mind.stats().live == 0


def test_the_encoder_passes_the_suite(minilm: Path) -> None:
    target = Target("sotto.backends.ctranslate2:CTranslate2", str(minilm), None, OPTIONS)
    assert {name: check.outcome(target, name, 90) for name in CASES} == dict.fromkeys(CASES, "")
