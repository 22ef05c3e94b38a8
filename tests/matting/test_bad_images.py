"""What goes wrong around images: files, models, and ONNX Runtime itself."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper
from tiny_matting import OWN, make_disc, make_matting

import sotto
from conftest import Load, ask, encoded, matte, picture
from sotto._lib import library_folder
from sotto._onnxruntime import library, with_library

MUTANTS = int(os.environ.get("SOTTO_TEST_MUTANTS", 150))


def refused(engine: sotto.Engine, image: str, **fields: Any) -> str:
    """The error of a request that must fail for its arguments."""
    done = ask(engine, image, **fields)[-1]
    assert done.status == sotto.Status.ARGUMENT, done
    return done.error


def test_the_default_limit_is_a_picture_of_1080p(engine: sotto.Engine, load: Load, tmp_path: Path) -> None:
    path = make_disc(tmp_path / "disc.onnx")
    load(path)
    load(path, "large", max_pixels=2049 * 1024)
    assert matte(engine, encoded(picture(1920, 1080))).size == (1920, 1080)
    larger = encoded(picture(2049, 1024))
    assert "at most 2097152 pixels" in refused(engine, larger)
    assert matte(engine, larger, "large").size == (2049, 1024)


def test_images_that_are_none_are_refused(engine: sotto.Engine, load: Load, tmp_path: Path) -> None:
    load(make_disc(tmp_path / "disc.onnx"), max_pixels=10_000)
    assert "base64" in refused(engine, "not base64!")
    assert "base64" in refused(engine, "data:image/png,abc")
    assert "expected a PNG, JPEG or WebP file" in refused(engine, "aGVsbG8=")
    assert "expected a PNG, JPEG or WebP file" in refused(engine, encoded(picture(8, 8), "GIF"))
    large = refused(engine, encoded(picture(200, 100)))
    assert "200 x 100 pixels" in large and "at most 10000 pixels; scale the image down" in large
    assert "load the model with a larger option `max_pixels`" in large
    whole = encoded(picture(60, 60))
    for part in (0.2, 0.5, 0.9):
        cut = whole[: int(len(whole) * part) // 4 * 4]
        assert "damaged" in refused(engine, cut)
    assert matte(engine, whole).size == (60, 60)  # the model still works


def test_options_are_refused_by_name(load: Load, tmp_path: Path) -> None:
    path = make_disc(tmp_path / "disc.onnx")
    for options, told in (
        ({"threads": 0}, "invalid options.threads '0'"),
        ({"size": 32}, "invalid options.size '32'"),
        ({"treads": 1}, "unknown field options.treads"),
        ({"mean": [1]}, "invalid options.mean"),
    ):
        with pytest.raises(sotto.SottoError, match=told):
            load(path, **options)


def _graph(inputs: list[Any], nodes: list[Any], outputs: list[Any]) -> bytes:
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(made.SerializeToString())


def _value(name: str, shape: list[Any], kind: int = TensorProto.FLOAT) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def wrong_models() -> dict[str, tuple[bytes, str]]:
    """Files that are no segmentation models, and what is said about them."""
    image, out = [1, 3, 64, 64], [1, 1, 64, 64]
    relu = [helper.make_node("Relu", ["x"], ["y"])]
    add = [helper.make_node("Add", ["x", "z"], ["y"])]
    return {
        "empty": (b"", "0 bytes"),
        "text": (b"hello, this is no model", "not an ONNX model"),
        "gguf": (b"GGUF" + bytes(60), "not an ONNX model"),
        "zeros": (bytes(4096), "not an ONNX model"),
        "words": (_graph([_value("x", [1, 8])], relu, [_value("y", [1, 8])]), "another shape"),
        "one colour": (
            _graph([_value("x", [1, 1, 64, 64])], relu, [_value("y", out)]),
            "another shape",
        ),
        "integers": (
            _graph([_value("x", image, TensorProto.INT8)], relu, [_value("y", image, TensorProto.INT8)]),
            "neither float nor float16",
        ),
        "two inputs": (
            _graph([_value("x", image), _value("z", image)], add, [_value("y", image)]),
            "2 inputs",
        ),
        "three channels out": (_graph([_value("x", image)], relu, [_value("y", image)]), "first output"),
        "unknown operator": (
            _graph([_value("x", image)], [helper.make_node("Magic", ["x"], ["y"])], [_value("y", out)]),
            "ONNX Runtime",
        ),
    }


@pytest.mark.parametrize("name", wrong_models())
def test_wrong_models_are_refused_with_the_reason(load: Load, tmp_path: Path, name: str) -> None:
    data, told = wrong_models()[name]
    path = tmp_path / "wrong.onnx"
    path.write_bytes(data)
    with pytest.raises(sotto.ModelLoadError, match=told):
        load(path)


def test_a_missing_file_and_external_data(load: Load, tmp_path: Path) -> None:
    with pytest.raises(sotto.ModelLoadError, match=r"none\.onnx"):
        load(tmp_path / "none.onnx")
    model = onnx.load_model(make_matting(tmp_path / "m.onnx", width=32))
    path = tmp_path / "external.onnx"
    onnx.save_model(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    with pytest.raises(sotto.ModelLoadError, match="external data"):
        load(path)


def test_damaged_models_are_refused_or_work(engine: sotto.Engine, load: Load, tmp_path: Path) -> None:
    whole = make_matting(tmp_path / "m.onnx", width=4, metadata=OWN).read_bytes()
    chance = random.Random(29)
    path = tmp_path / "mutant.onnx"
    image = encoded(picture(16, 16))
    works = 0
    for _ in range(MUTANTS):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        path.write_bytes(data[: chance.randrange(len(data))] if chance.random() < 0.2 else data)
        try:
            load(path)
        except sotto.SottoError:
            continue
        assert ask(engine, image)[-1].status in (0, sotto.Status.INFERENCE)
        engine.unload_model("m")
        works += 1
    assert works > 0


SCRIPT = """
import sys
import sotto
with sotto.Engine("cpu") as engine:
    try:
        engine.load_model("m", path=sys.argv[1], backend="onnx", options=eval(sys.argv[2]))
        print("loaded")
    except sotto.SottoError as error:
        print(type(error).__name__, error)
"""


def load_alone(model: Path, options: dict[str, Any], **environment: str) -> str:
    """What loading a model says in a process of its own: a process opens ONNX Runtime once."""
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, model, repr(options)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


def test_onnx_runtime_missing_or_of_another_version(tmp_path: Path) -> None:
    model = make_disc(tmp_path / "disc.onnx")
    missing = load_alone(model, {"library": "/no/such/library.so"})
    assert "/no/such/library.so" in missing and "pip install onnxruntime" in missing
    assert "/no/such/other.so" in load_alone(model, {}, SOTTO_ONNXRUNTIME="/no/such/other.so")
    ours = next(library_folder().glob("libsotto*"))
    assert "it has no OrtGetApiBase()" in load_alone(model, {"library": str(ours)})
    source, old = tmp_path / "old.c", tmp_path / "old.so"
    source.write_text(
        """
        static const void* get(unsigned version) { return version <= 11 ? (void*)1 : 0; }
        static const char* text(void) { return "1.11.0"; }
        static const struct { const void* (*get)(unsigned); const char* (*text)(void); } base = {get, text};
        const void* OrtGetApiBase(void) { return &base; }
        """
    )
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", old], check=True)
    told = load_alone(model, {"library": str(old)})
    assert "it is version 1.11.0; expected 1.17 or later" in told


def test_onnx_runtime_is_found_by_each_way(tmp_path: Path) -> None:
    model = make_disc(tmp_path / "disc.onnx")
    file = library()
    assert file is not None and Path(file).is_file()
    assert load_alone(model, {}) == "loaded"
    assert load_alone(model, {"library": file}) == "loaded"
    assert load_alone(model, {}, SOTTO_ONNXRUNTIME=file) == "loaded"


def test_the_packages_library_is_only_a_default(monkeypatch: pytest.MonkeyPatch) -> None:
    assert with_library(None) == {"library": library()}
    assert with_library('{"threads": 2}') == {"threads": 2, "library": library()}
    assert with_library({"library": "/mine"}) == {"library": "/mine"}
    assert with_library("[") == "["
    monkeypatch.setenv("SOTTO_ONNXRUNTIME", "/other")
    assert with_library({"threads": 2}) == {"threads": 2}


def test_only_this_operation_is_performed(engine: sotto.Engine, load: Load, tmp_path: Path) -> None:
    load(make_disc(tmp_path / "disc.onnx"))
    with pytest.raises(sotto.SottoError, match="image_matte"):
        engine.llm_chat_completion(json.dumps({"model": "m", "messages": [{"role": "user", "content": "a"}]}))
