"""Models that somebody damaged: refused by name, or computed with; the process goes on. Each has its own."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import ROOT

if sys.platform == "win32":
    pytest.skip("processes are forked and limited here", allow_module_level=True)
sys.path.append(str(ROOT / "tests" / "fuzz"))

import gguf_model
import model_mutants
from gguf_model import STRING, TYPES, Model, Value

pytestmark = pytest.mark.real
COUNT = int(os.environ.get("SOTTO_TEST_MUTANTS", "100"))  # 5,000 for a release
F32, F16, BF16, I32 = 0, 1, 30, 26
Q8_K = 15
NO_WEIGHTS = {24: "i8", 25: "i16", 26: "i32", 27: "i64", 28: "f64", 9: "q8_1", Q8_K: "q8_K"}


class Bench:
    """Loads changed models in processes of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        model_mutants.make_models(folder)

    def load(self, base: str, change: Callable[[Model], object]) -> str:
        """Changes a model; returns what was said. Fails where the process died, took long or took much."""
        model = gguf_model.read(self.folder / base)
        change(model)
        path = self.folder / ("ears-mutant.gguf" if base == "ears.gguf" else "mutant.gguf")
        model.write(path)
        whose = self.folder / model_mutants.PROJECTORS[base] if base in model_mutants.PROJECTORS else path
        projector = path if whose != path else None
        found = model_mutants.in_child(lambda: model_mutants.load(whose, projector), self.folder / "said")
        outcome = model_mutants.Outcome(base, 0, "", *found)
        assert not outcome.fault, (base, outcome)
        return outcome.said


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A folder with models."""
    yield Bench(tmp_path_factory.mktemp("models"))


def retype(model: Model, name: str, kind: int) -> None:
    """Gives a tensor another type."""
    model.tensors[name].kind = kind
    model.tensors[name].refit()


def test_a_norm_is_f32(bench: Bench) -> None:
    for kind, name in {F16: "f16", BF16: "bf16", 8: "q8_0", I32: "i32", 28: "f64"}.items():
        said = bench.load("tiny.gguf", lambda model, kind=kind: retype(model, "blk.1.attn_norm.weight", kind))
        assert re.search(
            rf"invalid tensor 'blk.1.attn_norm.weight': type {name} of a bias, .*; expected f32; convert",
            said,
        )


def test_weights_are_of_a_type_that_can_be_multiplied(bench: Bench) -> None:
    for base, tensor in (
        ("house.gguf", "blk.0.attn_q.weight"),
        ("house.gguf", "token_embd.weight"),
        ("tiny-recurrent.gguf", "blk.0.ssm_out.weight"),
    ):
        for kind, name in NO_WEIGHTS.items():
            said = bench.load(base, lambda model, t=tensor, k=kind: retype(model, t, k))
            if kind == Q8_K and base == "house.gguf":
                assert f"tensor '{tensor}': rows of 576 elements; expected a multiple of 256" in said
            else:
                assert f"invalid tensor '{tensor}': type {name} of weights" in said


def test_every_type_of_every_role_loads_or_is_refused(bench: Bench) -> None:
    for base in ("tiny-recurrent.gguf", "tiny-hybrid.gguf", "eyes-window.gguf", "ears.gguf"):
        model = gguf_model.read(bench.folder / base)
        for name, tensor in model.tensors.items():
            if ".1." in name:
                continue  # as in layer 0
            for kind in (F16, 39):  # what passes for weights: two of them
                if tensor.shape[0] % TYPES[kind][0] == 0:
                    bench.load(base, lambda model, n=name, k=kind: retype(model, n, k))


def test_a_projector_without_one_of_its_tensors_is_refused_or_does_without(bench: Bench) -> None:
    for base in model_mutants.PROJECTORS:
        for name in gguf_model.read(bench.folder / base).tensors:
            said = bench.load(base, lambda model, n=name: model.tensors.pop(n))
            if re.fullmatch(r"[va]\.blk\.\d\.attn_[qkv]\.weight", name):
                assert f"missing tensor '{name}'" in said


def test_an_architecture_without_heads_is_refused(bench: Bench) -> None:
    def rename(model: Model) -> None:
        for key in [key for key in model.values if key.startswith("llama.")]:
            model.values["olmo2" + key[5:]] = model.values.pop(key)
        model.values["general.architecture"].value = "olmo2"
        model.values["olmo2.attention.head_count"].value = 0

    assert "invalid olmo2.attention.head_count '0': expected 1 or more" in bench.load("tiny.gguf", rename)


@pytest.mark.parametrize(
    ("tokenizer", "length"), [("t5", 60_000), ("rwkv", 1_000_000), ("plamo2", 1_000_000)]
)
def test_a_token_has_a_sane_length(bench: Bench, tokenizer: str, length: int) -> None:
    def lengthen(model: Model) -> None:
        model.values["tokenizer.ggml.model"] = Value(STRING, tokenizer)
        model.values["tokenizer.ggml.tokens"].value[300] = b"a" * length

    said = bench.load("tiny.gguf", lengthen)
    assert f"invalid tokenizer.ggml.tokens[300] of {length} bytes: expected at most 2048" in said


def test_an_architecture_of_several_axes_has_sections(bench: Bench) -> None:
    key = "qwen2vl.rope.dimension_sections"
    for sections in ([0, 0, 0, 0], [4, -6, 6, 0], [4, 1 << 20, 6, 0]):
        said = bench.load("tiny-rows.gguf", lambda model, s=sections: setattr(model.values[key], "value", s))
        assert f"invalid {key} with a sum of '{sum(sections)}'" in said

    def rename(model: Model) -> None:
        for old in [old for old in model.values if old.startswith("llama.")]:
            model.values["paddleocr" + old[5:]] = model.values.pop(old)
        model.values["general.architecture"].value = "paddleocr"

    assert "invalid paddleocr.rope.dimension_sections with a sum of '0'" in bench.load("tiny.gguf", rename)


def test_tokens_that_a_tokenizer_cannot_end_with_are_refused(bench: Bench) -> None:
    def lengthen(model: Model) -> None:
        model.values["tokenizer.ggml.model"] = Value(STRING, "plamo2")
        tokens = model.values["tokenizer.ggml.tokens"].value
        for i in range(300, 309):
            tokens[i] = f"{i}".encode() + b"a" * 2000

    assert "too long for tokenizer 'plamo2'" in bench.load("tiny.gguf", lengthen)
    change = {"tokenizer.ggml.model": Value(STRING, "rwkv")}
    said = bench.load("tiny.gguf", lambda model: model.values.update(change))
    assert "tokenizer 'rwkv' needs a token for each single byte" in said


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"patch_size": 256}, "clip.vision.patch_size '256': expected a side"),
        ({"spatial_merge_size": 64}, "patches a side to a token"),
        ({"image_size": 8192, "patch_size": 1}, "patches an image"),
        ({"preproc_image_size": 16384}, "clip.vision.preproc_image_size '16384': expected at most 4096"),
        ({"image_min_pixels": 1 << 25}, "clip.vision.image_min_pixels '33554432': expected at most 16777216"),
        (
            {"image_max_pixels": 1 << 28, "patch_size": 2},
            "clip.vision.image_max_pixels '268435456': expected",
        ),
    ],
)
def test_sizes_of_a_projector_are_bounded_together(bench: Bench, changes: dict[str, int], named: str) -> None:
    def change(model: Model) -> None:
        for key, value in changes.items():
            model.values[f"clip.vision.{key}"] = Value(4, value)

    assert named in bench.load("eyes-rows.gguf", change)


def test_more_patches_than_positions_are_an_error_of_the_request(bench: Bench) -> None:
    said = bench.load(
        "eyes.gguf", lambda model: model.values.update({"clip.vision.image_size": Value(4, 56)})
    )
    assert "invalid tensor 'v.position_embd.weight' with 16 rows: row 16 is out of range" in said


def test_mutated_models_end_no_process(tmp_path: Path) -> None:
    outcomes = model_mutants.run(COUNT)
    assert [outcome for outcome in outcomes if outcome.fault] == []
    assert sum(outcome.said == "spoke" for outcome in outcomes) > COUNT // 20, "they are not all refused"
