"""Images as Python objects: arrays, files, previews, progress, cancellation, and the same on asyncio."""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sotto
import sotto.aio
from conftest import ENVIRONMENT
from image_double import SIZE, STEPS, Easel, file_of, foreground, noise, picture, pixels_in


@pytest.fixture
def easel() -> Easel:
    return Easel()


@pytest.fixture
def engine(easel: Easel) -> Iterator[sotto.Engine]:
    with sotto.Engine("cpu", mode="prioritize_compute") as made:
        made.add_backend(easel)
        made.load_model("m", path="-", backend="easel")
        yield made


def test_images_have_bytes_seeds_and_pixels(engine: sotto.Engine) -> None:
    made = engine.generate_images("a fox", n=2, size=(40, 24), seed=5)
    assert [one.seed for one in made.images] == [5, 6] and made.seed == 5
    assert (made.prompt, made.raw["created"] > 0) == ("a fox", True)
    for one in made.images:
        assert (one.width, one.height, one.format) == (40, 24, "png") and one.png == one.data
        assert (one.array() == noise(one.seed or 0, "a fox", 40, 24)).all()
    assert made.png == made.images[0].png and (made.array() == made.images[0].array()).all()
    assert engine.generate_images("a fox", size="40x24", seed=5, model="m").png == made.png
    assert engine.generate_images("a fox").images[0].array().shape == (SIZE[1], SIZE[0], 3)


@pytest.mark.real
def test_the_only_model_that_generates_images_is_found_beside_others(
    engine: sotto.Engine,
) -> None:
    engine.load_model("sotto/house")
    assert engine.generate_images("a fox", seed=5).seed == 5
    assert engine.chat("Who are you?", max_tokens=2, seed=1).text
    operations = {one["id"]: one["operations"] for one in json.loads(engine.model_list())}
    assert operations["m"] == ["image_generate", "image_matte"] and "chat" in operations["sotto/house"]
    engine.load_model("other", path="-", backend="easel")
    with pytest.raises(sotto.ArgumentError, match=r"one of the loaded models \('m', 'other'\)"):
        engine.generate_images("a fox")


def test_progress_and_previews_come_in_order(engine: sotto.Engine) -> None:
    done: list[float] = []
    seen: list[sotto.Image] = []
    made = engine.generate_images("a fox", n=2, seed=1, on_progress=done.append, on_preview=seen.append)
    assert done == sorted(done) and done[-1] == 1 and len(done) >= 2 * STEPS - 2
    assert [one.number for one in seen] == [0, 0, 0, 1, 1, 1]
    assert len(made.images) == 2 and {one.data for one in seen}.isdisjoint(one.data for one in made.images)
    assert (seen[0].array() == noise(1, "a fox", *SIZE) // 2).all()
    seen.clear()
    engine.generate_images("a fox", partial_images=1, on_preview=seen.append)
    assert len(seen) == 1


def test_an_image_to_start_from_comes_in_every_form(engine: sotto.Engine, tmp_path: Path) -> None:
    start, file = picture(), tmp_path / "start.png"
    file.write_bytes(file_of(start))
    for given in (file, str(file), file.read_bytes(), bytearray(file.read_bytes()), start):
        assert (engine.generate_images("x", image=given, strength=0).array() == start).all()
    mask = np.zeros((*start.shape[:2], 3), np.uint8)
    mask[:, 12:] = 255
    made = engine.generate_images("x", image=start, mask=mask, seed=3, strength=1).array()
    assert (made[:, :12] == start[:, :12]).all()
    assert (made[:, 12:] == noise(3, "x", 24, 16)[:, 12:]).all()


def test_a_background_is_removed(engine: sotto.Engine) -> None:
    made = engine.remove_background(picture())
    assert made.array().shape == (16, 24, 4) and (made.array()[:, :, 3] == foreground(picture())).all()
    assert made.seed is None and (made.width, made.height) == (24, 16)
    alpha = np.dstack([picture(), np.full((16, 24), 7, np.uint8)])
    assert (engine.remove_background(alpha, model="m").array() == made.array()).all()
    mask = engine.remove_background(picture(), mask_only=True).array()
    assert mask.shape == (16, 24) and (mask == foreground(picture())).all()


def test_values_that_are_no_image_are_refused_by_name(engine: sotto.Engine, tmp_path: Path) -> None:
    (tmp_path / "text.png").write_text("a text")
    refused: list[tuple[type[Exception], str, Any]] = [
        (ValueError, "invalid image '.*none.png': expected a PNG.*No such file", tmp_path / "none.png"),
        (ValueError, "invalid image '.*': expected a PNG, JPEG or WebP file; Is a directory", tmp_path),
        (ValueError, "invalid image '.*text.png': expected a PNG", tmp_path / "text.png"),
        (ValueError, "invalid image", b"a text"),
        (ValueError, "height x width x 3 or 4", np.zeros((2, 2, 5), np.uint8)),
        (ValueError, "height x width", np.zeros((0, 2, 3), np.uint8)),
        (TypeError, "buffer of uint8.*3 dimensions of 'f'", np.zeros((2, 2, 3), np.float32)),
        (TypeError, "1 dimensions", np.zeros(12, np.uint8)),
        (TypeError, "invalid image '7': expected a path", 7),
        (TypeError, "invalid image", None),
    ]
    for kind, what, given in refused:
        with pytest.raises(kind, match=what):
            engine.remove_background(given)
    with pytest.raises(ValueError, match=r"invalid mask.*a field `image` beside it"):
        engine.generate_images("x", mask=picture())
    with pytest.raises(ValueError, match="at most 49,283,072 bytes"):
        engine.remove_background(b"\x89PNG\r\n\x1a\n" + bytes(48 << 20))
    for more in ({"on_progress": 7}, {"on_preview": "show"}):
        with pytest.raises(TypeError, match=r"expected a function or None"):
            engine.generate_images("x", **more)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="invalid response_format 'b64_json': expected no such field"):
        engine.generate_images("x", response_format="b64_json")
    with pytest.raises(ValueError, match=r"invalid size '.*0x16.*': expected width x height"):
        engine.generate_images("x", size=(0, 16))
    with pytest.raises((ValueError, TypeError), match="prompt"):
        engine.generate_images("")


def test_files_are_written_under_their_names(engine: sotto.Engine, tmp_path: Path) -> None:
    made = engine.generate_images("a fox", n=3, seed=1)
    paths = made.save(tmp_path / "new" / "fox.png")
    assert paths == tuple(str(tmp_path / "new" / name) for name in ("fox.png", "fox-2.png", "fox-3.png"))
    assert [Path(path).read_bytes() for path in paths] == [one.png for one in made.images]
    assert made.images[2].save(tmp_path / "new" / "fox.png") == paths[0]
    assert Path(paths[0]).read_bytes() == made.images[2].png
    assert len(list((tmp_path / "new").iterdir())) == 3
    for name in ("fox", "fox.jpg", "fox.webp"):
        with pytest.raises(ValueError, match=f"invalid path '.*{name}': expected a file name that ends"):
            made.images[0].save(tmp_path / name)
    webp = made.images[0]._replace(format="webp")
    assert webp.save(tmp_path / "fox.webp").endswith("fox.webp")
    with pytest.raises(ValueError, match='format "webp": use data'):
        webp.png  # noqa: B018


def test_the_response_format_file_writes_images(engine: sotto.Engine, tmp_path: Path) -> None:
    target = tmp_path / "art" / "fox.png"
    body = {"model": "m", "prompt": "a fox", "n": 2, "seed": 4, "response_format": "file"}
    response = json.loads(engine.image_generate({**body, "path": target}))
    assert [one["path"] for one in response["data"]] == [str(target), str(target.with_name("fox-2.png"))]
    assert [set(one) for one in response["data"]] == [{"path", "seed", "revised_prompt"}] * 2
    for one in response["data"]:
        assert (pixels_in(Path(one["path"]).read_bytes()) == noise(one["seed"], "a fox", *SIZE)).all()
    target.write_bytes(b"an earlier file")
    target.chmod(0o640)
    engine.image_generate(json.dumps({**body, "n": 1, "path": str(target)}))
    assert pixels_in(target.read_bytes()).shape == (SIZE[1], SIZE[0], 3)
    assert target.stat().st_mode & 0o777 == 0o640
    given = base64.b64encode(file_of(picture())).decode()
    cut = tmp_path / "cut.png"
    asked = {"model": "m", "image": given, "response_format": "file", "path": str(cut)}
    (one,) = json.loads(engine.image_remove_background(asked))["data"]
    assert one == {"path": str(cut)} and pixels_in(cut.read_bytes()).shape == (16, 24, 4)
    assert sorted(path.name for path in target.parent.iterdir()) == ["fox-2.png", "fox.png"]


def test_a_path_that_cannot_be_written_is_refused_before_a_step(
    engine: sotto.Engine, easel: Easel, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("a file")
    (tmp_path / "folder.png").mkdir()
    body = {"model": "m", "prompt": "a fox", "response_format": "file"}
    for path, what in (
        (None, "missing path"),
        (7, "invalid path '7'"),
        ("", "invalid path"),
        ("a\0b.png", "invalid path"),
        (tmp_path / "fox", "ends with .png or .webp"),
        (tmp_path / "fox.jpg", "ends with .png or .webp"),
        (tmp_path / "folder.png", "not of a folder"),
        (tmp_path / "file" / "fox.png", "image file '.*fox.png' cannot be written: (Not a dir|File exists)"),
        ("/proc/fox.png", "image file '/proc/fox.png' cannot be written"),  # read-only for root, too
    ):
        with pytest.raises(ValueError, match=what):
            engine.image_generate({**body, "path": path})
    with pytest.raises(ValueError, match="invalid output_format 'webp': expected 'png'"):
        engine.image_generate({**body, "path": tmp_path / "fox.png", "output_format": "webp"})
    assert easel.models[0].computed == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder.png"]


@pytest.mark.skipif(sys.platform != "linux", reason="limits of file sizes")
def test_a_full_disk_keeps_the_earlier_file(tmp_path: Path) -> None:
    target = tmp_path / "fox.png"
    target.write_bytes(b"an earlier file")
    code = f"""
import resource, signal, sotto
from image_double import Easel
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with sotto.Engine("cpu") as engine:
    engine.add_backend(Easel())
    engine.load_model("m", path="-", backend="easel")
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    body = {{"model": "m", "prompt": "a fox", "response_format": "file", "path": {str(target)!r}}}
    made = engine.generate_images("x")
    for ask in (lambda: engine.image_generate(body), lambda: made.save({str(target)!r})):
        try:
            ask()
        except sotto.SottoError as error:
            print(error.status.name, error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False,
        env={**ENVIRONMENT, "PYTHONPATH": f"{Path(__file__).parent}:{ENVIRONMENT.get('PYTHONPATH', '')}"},
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        f"STATE image file '{target}' cannot be written: File too large; free space, or choose another path"
    ] * 2, done.stderr  # fmt: skip
    assert target.read_bytes() == b"an earlier file" and len(list(tmp_path.iterdir())) == 1


class Stop(Exception):
    """Raised in a callback."""


def stop(_: object) -> None:
    raise Stop


def test_an_exception_in_a_callback_cancels_the_request(engine: sotto.Engine, easel: Easel) -> None:
    engine.load_model("slow", path="-", backend="easel", options={"step_ms": 20})
    slow = easel.models[-1]
    for how in ({"on_progress": stop}, {"on_preview": stop}):
        slow.computed = 0
        with pytest.raises(Stop):
            engine.generate_images("a fox", model="slow", steps=100, **how)
        end = time.monotonic() + 20
        while engine.stats().live and time.monotonic() < end:
            time.sleep(0.01)
        assert engine.stats().live == 0 and slow.computed < 20


def test_an_unloaded_model_ends_its_request(engine: sotto.Engine) -> None:
    engine.load_model("slow", path="-", backend="easel", options={"step_ms": 20})
    unloading = threading.Timer(0.1, engine.unload_model, ["slow"])
    unloading.start()
    with pytest.raises(sotto.SottoError, match="unloaded"):
        engine.generate_images("a fox", model="slow", steps=500)
    unloading.join()


def test_submitted_requests_stream_progress_previews_and_images(engine: sotto.Engine) -> None:
    body = {"model": "m", "prompt": "a fox", "seed": 2, "response_format": "data", "partial_images": 2}
    engine.submit("image_generate", body, 9)
    events: list[sotto.Event] = []
    while not events or events[-1].kind != "request_done":
        assert engine.wait(20)
        events += engine.events()
    assert {event.user for event in events} == {9}
    info = [json.loads(event.json) for event in events if event.kind == "data"]
    assert [one.get("partial", False) for one in info] == [True, True, False]
    image = next(event for event in events if event.json == json.dumps(info[2]))
    assert (pixels_in(image.data) == noise(2, "a fox", *SIZE)).all()
    assert [event.progress for event in events if event.kind == "progress"][-1] == 1


def test_asyncio_has_the_same(tmp_path: Path) -> None:
    async def test() -> None:
        async with sotto.aio.Engine("cpu", mode="prioritize_compute") as engine:
            engine.add_backend(Easel())
            await engine.load_model("m", path="-", backend="easel")
            done: list[float] = []
            seen: list[sotto.Image] = []
            made = await engine.generate_images(
                "a fox", n=2, size=(40, 24), seed=5, on_progress=done.append, on_preview=seen.append
            )
            assert (made.images[1].array() == noise(6, "a fox", 40, 24)).all()
            assert done[-1] == 1 and len(seen) == 6
            cut = await engine.remove_background(picture())
            assert (cut.array()[:, :, 3] == foreground(picture())).all()
            body = {"model": "m", "prompt": "a fox", "seed": 5, "size": "40x24"}
            response = json.loads(await engine.image_generate(json.dumps(body)))
            assert base64.b64decode(response["data"][0]["b64_json"]) == made.png
            target = tmp_path / "fox.png"
            await engine.image_generate({**body, "response_format": "file", "path": str(target)})
            assert target.read_bytes() == made.png
            given = base64.b64encode(file_of(picture())).decode()
            asked = {"model": "m", "image": given}
            (one,) = json.loads(await engine.image_remove_background(asked))["data"]
            assert base64.b64decode(one["b64_json"]) == cut.png
            with pytest.raises(ValueError, match="invalid image"):
                await engine.image_remove_background({**asked, "image": "garbage"})
            with pytest.raises(Stop):
                await engine.generate_images("a fox", on_progress=stop)
            await engine.load_model("slow", path="-", backend="easel", options={"step_ms": 20})
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(engine.generate_images("a fox", model="slow", steps=500), 0.1)
            while engine._engine.stats().live:
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(test(), 60))


def test_raw_pixels_become_arrays_without_a_decoder(engine: sotto.Engine, tmp_path: Path) -> None:
    made = engine.generate_images("a fox", seed=3, size=(40, 24), output_format="raw").images[0]
    assert made.format == "raw" and len(made.data) == 40 * 24 * 4
    assert (made.array()[:, :, :3] == noise(3, "a fox", 40, 24)).all() and (
        made.array()[:, :, 3] == 255
    ).all()
    cut = engine.remove_background(picture(), output_format="raw")
    assert (cut.array() == engine.remove_background(picture()).array()).all()
    mask = engine.remove_background(picture(), output_format="raw", mask_only=True)
    assert (mask.array() == foreground(picture())).all()
    with pytest.raises(ValueError, match="raw pixels are no file"):
        made.save(tmp_path / "fox.png")
    with pytest.raises(ValueError, match='format "raw"'):
        made.png  # noqa: B018
    with pytest.raises(ValueError, match="expected 40 x 25 raw pixels"):
        made._replace(height=25).array()


def test_an_error_says_that_pillow_is_missing(engine: sotto.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    image = engine.generate_images("a fox", seed=3)
    monkeypatch.setitem(sys.modules, "PIL", None)
    for needs in (image.array, lambda: engine.remove_background(np.zeros((8, 8, 3), np.uint8))):
        with pytest.raises(ValueError, match=r"Pillow is missing: pip install 'sotto-runtime\[images\]' for"):
            needs()
    assert engine.generate_images("a fox", output_format="raw").array().shape == (SIZE[1], SIZE[0], 4)
