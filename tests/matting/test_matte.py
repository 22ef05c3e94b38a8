"""Removal of backgrounds: equal to ONNX Runtime's own output, in all forms of models and files."""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from PIL import Image
from tiny_matting import OWN, make_disc, make_matting

import sotto
from conftest import Load, ask, decoded, encoded, matte, picture, rest

CANCELS = int(os.environ.get("SOTTO_TEST_KILLS", 60))
IMAGENET = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
PLAIN = ([0.5, 0.5, 0.5], [1.0, 1.0, 1.0])


def resized(plane: np.ndarray, width: int, height: int) -> np.ndarray:
    """A plane of floats in another size, as Pillow resizes bilinearly."""
    image = Image.fromarray(plane.astype(np.float32), "F")
    return np.asarray(image.resize((width, height), Image.Resampling.BILINEAR))


def expected(
    path: Path,
    image: Image.Image,
    size: int,
    values: tuple[list[float], list[float]] = PLAIN,
    *,
    largest: bool = False,
    sigmoid: bool = False,
    stretch: bool = True,
    half: bool = False,
) -> np.ndarray:
    """Alpha from 0 to 255, computed with ONNX Runtime's Python package, Pillow and numpy."""
    pixels = np.asarray(image.convert("RGB"), np.float32)
    planes = [resized(pixels[..., i], size, size) for i in range(3)]
    divisor = pixels.max() if largest else 255.0
    ready = [(plane / divisor - mean) / std for plane, mean, std in zip(planes, *values, strict=True)]
    kind = np.float16 if half else np.float32
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    mask = session.run(None, {session.get_inputs()[0].name: np.stack(ready)[None].astype(kind)})[0]
    mask = mask[0, 0].astype(np.float32)
    mask = 1 / (1 + np.exp(-mask)) if sigmoid else mask
    mask = (mask - mask.min()) / (mask.max() - mask.min()) if stretch else mask
    return np.clip(resized(mask, *image.size), 0, 1) * 255


def alpha_of(engine: sotto.Engine, image: Image.Image, **fields: Any) -> np.ndarray:
    """Alpha as the engine has it, without refinement."""
    grey = matte(engine, encoded(image), mask_only=True, refine_edges=False, **fields)
    assert (grey.mode, grey.size) == ("L", image.size)
    return np.asarray(grey, np.float32)


CASES = {
    "own": ({"metadata": OWN}, {}, {"stretch": False}),
    "own-stretched": ({"metadata": {**OWN, "sotto.normalise": "minmax"}}, {}, {}),
    "isnet": ({}, {}, {}),
    "isnet-logits": ({"sigmoid": False}, {}, {}),
    "isnet-dynamic": ({"dynamic": True}, {"size": 64}, {}),
    "size-in-metadata": ({"dynamic": True, "metadata": {**OWN, "sotto.size": "64"}}, {}, {"stretch": False}),
    "u2net": ({"size": 320}, {}, {"values": IMAGENET, "largest": True, "size": 320}),
    "birefnet": (
        {"sigmoid": False, "input_name": "input_image"},
        {},
        {"values": IMAGENET, "sigmoid": True, "stretch": False},
    ),
    "half": ({"half": True}, {}, {"half": True}),
    "options": (
        {},
        {"mean": [0.1, 0.2, 0.3], "std": [0.5, 1, 2], "normalise": "none", "activation": "none"},
        {"values": ([0.1, 0.2, 0.3], [0.5, 1, 2]), "stretch": False},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_alpha_equals_onnx_runtimes_own_output(
    engine: sotto.Engine, load: Load, tmp_path: Path, case: str
) -> None:
    made, options, meant = CASES[case]
    path = make_matting(tmp_path / "m.onnx", **made)
    load(path, **options)
    for width, height in ((200, 120), (64, 64), (33, 301)):
        image = picture(width, height, seed=width)
        wanted = expected(path, image, **{"size": 64, **meant})
        assert np.abs(alpha_of(engine, image) - wanted).max() <= 1, (case, width, height)


def test_alpha_equals_at_1080p(engine: sotto.Engine, load: Load, tmp_path: Path) -> None:
    path = make_matting(tmp_path / "m.onnx", size=256, metadata=OWN)
    load(path)
    image = picture(1920, 1080)
    assert np.abs(alpha_of(engine, image) - expected(path, image, 256, stretch=False)).max() <= 1


def test_the_result_has_the_images_colours_where_it_is_opaque(
    engine: sotto.Engine, load: Load, tmp_path: Path
) -> None:
    load(make_disc(tmp_path / "disc.onnx"))
    image = picture(300, 200)
    for refined in (False, True):
        result = np.asarray(matte(engine, encoded(image), refine_edges=refined))
        assert result.shape == (200, 300, 4)
        opaque = result[..., 3] == 255
        assert 0.1 < opaque.mean() < 0.5 and (result[..., 3] == 0).mean() > 0.2
        assert (result[opaque][:, :3] == np.asarray(image)[opaque]).all()
        if not refined:
            assert (result[..., :3] == np.asarray(image)).all()


def test_what_was_transparent_stays_transparent(engine: sotto.Engine, load: Load, tmp_path: Path) -> None:
    load(make_disc(tmp_path / "disc.onnx"))
    image = picture(96, 80).convert("RGBA")
    before = np.full((80, 96), 255, np.uint8)
    before[:, :48] = 100
    image.putalpha(Image.fromarray(before))
    alone = np.asarray(matte(engine, encoded(image.convert("RGB")), refine_edges=False))[..., 3]
    after = np.asarray(matte(engine, encoded(image), refine_edges=False))[..., 3]
    assert (after == np.minimum(before, alone)).all()


def test_refinement_takes_the_backgrounds_colour_out_of_the_edge(
    engine: sotto.Engine, load: Load, tmp_path: Path
) -> None:
    load(make_disc(tmp_path / "disc.onnx", softness=0.1))
    y, x = np.mgrid[0:160, 0:160] / 159 * 2 - 1
    inside = np.clip((0.6 - np.hypot(x, y)) * 20 + 0.5, 0, 1)[..., None]
    scene = inside * [230, 30, 30] + (1 - inside) * [20, 200, 20]
    image = Image.fromarray((scene + 0.5).astype(np.uint8))
    plain = np.asarray(matte(engine, encoded(image), refine_edges=False), np.float32)
    refined = np.asarray(matte(engine, encoded(image)), np.float32)
    wanted = inside[..., 0] * 255
    assert np.abs(refined[..., 3] - wanted).mean() < np.abs(plain[..., 3] - wanted).mean() * 0.6
    edge = (refined[..., 3] > 64) & (refined[..., 3] < 192)
    assert edge.sum() > 50
    assert refined[edge][:, 1].mean() < plain[edge][:, 1].mean() / 2  # green


def test_files_of_all_kinds_are_read(engine: sotto.Engine, load: Load, tmp_path: Path) -> None:
    path = make_matting(tmp_path / "m.onnx", metadata=OWN)
    load(path)
    image = picture(90, 70)
    turned = Image.Exif()
    turned[0x112] = 6
    grey16 = Image.fromarray(np.asarray(image.convert("L")).astype(np.uint16) * 257)
    files = {
        "jpeg": (encoded(image, "JPEG", quality=95), None),
        "progressive": (encoded(image, "JPEG", progressive=True), None),
        "jpeg grey": (encoded(image.convert("L"), "JPEG"), None),
        "jpeg cmyk": (encoded(image.convert("CMYK"), "JPEG", quality=95), None),
        "turned": (encoded(image, "JPEG", exif=turned), None),
        "webp": (encoded(image, "WEBP", quality=90), None),
        "webp lossless": (encoded(image, "WEBP", lossless=True), None),
        "animated webp": (
            encoded(image, "WEBP", lossless=True, save_all=True, append_images=[picture(90, 70, 5)]),
            image,
        ),
        "animated png": (encoded(image, "PNG", save_all=True, append_images=[picture(90, 70, 5)]), image),
        "palette": (encoded(image.quantize(32), "PNG"), None),
        "grey": (encoded(image.convert("L"), "PNG"), None),
        "grey alpha": (encoded(image.convert("LA"), "PNG"), None),
        "bits": (encoded(image.convert("1"), "PNG"), None),
        "16 bits": (encoded(grey16, "PNG"), image.convert("L")),
    }
    from PIL import ImageOps

    for name, (file, meant) in files.items():
        shown = ImageOps.exif_transpose(decoded(file)) if meant is None else meant
        wanted = expected(path, shown.convert("RGB"), 64, stretch=False)
        grey = matte(engine, file, mask_only=True, refine_edges=False)
        assert grey.size == shown.size, name
        difference = np.abs(np.asarray(grey, np.float32) - wanted)
        assert difference.mean() <= 2 and difference.max() <= 24, (name, difference.mean(), difference.max())
    data_url = "data:image/png;base64," + encoded(image)
    assert matte(engine, data_url, mask_only=True).size == image.size


def test_raw_pixels_are_those_of_the_file(engine: sotto.Engine, load: Load, tmp_path: Path) -> None:
    load(make_disc(tmp_path / "disc.onnx"))
    for fields, channels in (({}, 4), ({"mask_only": True}, 1)):
        file = matte(engine, encoded(picture(50, 40)), **fields)
        asked = {**fields, "response_format": "data", "output_format": "raw"}
        (told,) = (one for one in ask(engine, encoded(picture(50, 40)), **asked) if one.kind == "data")
        assert told.data == file.tobytes() and len(told.data) == 50 * 40 * channels
        assert json.loads(told.json) == {"index": 0, "width": 50, "height": 40, "format": "raw"}


def test_the_response_has_base64_or_the_bytes(engine: sotto.Engine, load: Load, tmp_path: Path) -> None:
    load(make_disc(tmp_path / "disc.onnx"))
    image = picture(50, 40)
    done = ask(engine, encoded(image))[-1]
    response = json.loads(done.json)
    assert (response["output_format"], response["size"]) == ("png", "50x40")
    assert abs(response["created"] - time.time()) < 60
    events = ask(engine, encoded(image), response_format="data", output_format="webp")
    (part,) = [event for event in events if event.kind == "data"]
    assert json.loads(part.json) == {"index": 0, "width": 50, "height": 40, "format": "webp"}
    assert part.data[:4] == b"RIFF" and part.data[8:12] == b"WEBP"
    assert json.loads(events[-1].json)["data"] == []
    assert [event.progress for event in events if event.kind == "progress"][-1] == 1
    lossless = matte(engine, encoded(image), output_format="webp")
    assert (np.asarray(lossless) == np.asarray(decoded(response["data"][0]["b64_json"]))).all()
    small = ask(engine, encoded(image), output_format="webp", output_compression=10, response_format="data")
    assert len(next(event for event in small if event.kind == "data").data) < len(part.data)


def test_the_same_request_gives_the_same_bytes(engine: sotto.Engine, load: Load, tmp_path: Path) -> None:
    load(make_matting(tmp_path / "m.onnx", metadata=OWN))
    image = encoded(picture(400, 300))
    first, second = (matte(engine, image) for _ in range(2))
    assert first.tobytes() == second.tobytes()


def test_memory_is_counted_and_given_back(engine: sotto.Engine, load: Load, tmp_path: Path) -> None:
    path = make_matting(tmp_path / "m.onnx", size=256, width=32, metadata=OWN)
    load(path, max_pixels=1 << 20)
    used = engine.memory()["used"]
    images = (28 + 16) << 20
    activations = 256 * 256 * 32 * 4  # of one layer
    assert images + activations < used < images + 12 * activations + (16 << 20), used
    plan = engine.plan_model("n", path=path, options={"max_pixels": 1 << 20})
    needed = plan["rungs"][0]["bytes"]
    assert images + (64 << 20) < needed < images + (80 << 20), plan
    engine.unload_model("m")
    assert engine.memory()["used"] == 0


def test_a_request_is_cancelled_within_its_step(engine: sotto.Engine, load: Load, tmp_path: Path) -> None:
    load(make_matting(tmp_path / "m.onnx", size=512, width=48, layers=10, metadata=OWN))
    image = encoded(picture(640, 480))
    times = []
    for _ in range(3):
        began = time.monotonic()
        assert ask(engine, image)[-1].status == 0
        times.append(time.monotonic() - began)
    whole = min(times)  # other work of the machine makes single runs several times as long
    for share in (0.05, 0.15, 0.3):
        request = engine.submit("image_matte", {"model": "m", "image": image})
        time.sleep(share * whole)
        began = time.monotonic()
        assert engine.cancel(request)
        done = rest(engine, request)[-1]
        assert done.status == sotto.Status.CANCELLED
        assert time.monotonic() - began < max(0.5 * whole, 0.25)
    assert ask(engine, image)[-1].status == 0


def _resident() -> int:
    """Bytes of this process in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_cancelling_at_random_moments_leaks_nothing(engine: sotto.Engine, load: Load, tmp_path: Path) -> None:
    load(make_matting(tmp_path / "m.onnx", size=128, width=16, metadata=OWN))
    image = encoded(picture(700, 500))
    began = time.monotonic()
    assert ask(engine, image)[-1].status == 0
    whole = time.monotonic() - began
    chance = random.Random(29)
    before = 0
    cancelled = 0
    for turn in range(CANCELS):
        request = engine.submit("image_matte", {"model": "m", "image": image})
        time.sleep(chance.random() * whole)
        engine.cancel(request)
        status = rest(engine, request)[-1].status
        assert status in (0, sotto.Status.CANCELLED)
        cancelled += status != 0
        before = _resident() if turn == CANCELS // 4 else before
    assert cancelled > CANCELS // 4
    assert _resident() - before < 24 << 20
    assert ask(engine, image)[-1].status == 0


def test_a_file_that_ends_in_onnx_needs_no_backend(tmp_path: Path) -> None:
    path = make_disc(tmp_path / "disc.onnx")
    image = picture(60, 40)

    with sotto.Engine("cpu") as engine:
        engine.load_model("cutter", path=path)
        cut = engine.remove_background(np.asarray(image), model="cutter")
        assert (cut.width, cut.height, cut.format) == (60, 40, "png")
        alpha = cut.array()[..., 3]
        assert alpha[20, 30] == 255 and alpha[0, 0] < 32
        mask = engine.remove_background(np.asarray(image), model="cutter", mask_only=True)
        assert mask.array().shape[:2] == (40, 60)


def test_two_requests_and_two_models_at_once(engine: sotto.Engine, load: Load, tmp_path: Path) -> None:
    path = make_matting(tmp_path / "m.onnx", metadata=OWN)
    load(path)
    load(make_matting(tmp_path / "n.onnx", seed=7, metadata=OWN), "n")
    image = encoded(picture(120, 90))
    alone = {name: matte(engine, image, name).tobytes() for name in ("m", "n")}
    assert alone["m"] != alone["n"]
    live = {
        engine.submit("image_matte", {"model": name, "image": image}): name
        for name in ("m", "n", "m", "n", "m")
    }
    results: dict[int, bytes] = {}
    while len(results) < len(live):
        assert engine.wait(60)
        for event in engine.events():
            if event.kind == "request_done":
                assert event.status == 0, event.error
                results[event.request] = decoded(json.loads(event.json)["data"][0]["b64_json"]).tobytes()
    assert all(results[request] == alone[name] for request, name in live.items())
