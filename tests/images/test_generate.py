"""Images from text and from images, by tiny pipelines of PixArt Sigma and Stable Diffusion."""

from __future__ import annotations

import base64
import json
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from artist import PROMPT, base64_of, body, events_of, files, opened, paint, refused
from PIL import Image

import sotto
from sotto.backends._cases import CASES, Target

MODELS = ("pixart", "sd")


def pixels(data: bytes) -> Any:
    """An image file as an array of whole numbers."""
    return np.asarray(opened(data)).astype(int)


@pytest.fixture(scope="module")
def portrait(painter: sotto.Engine) -> Image.Image:
    """An image to start from."""
    return opened(files(painter, "sd", seed=1)[0])


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.row("A-115", "A-120", "A-121", "A-122")
def test_a_response_has_the_image_its_seed_and_its_prompt(painter: sotto.Engine, model: str) -> None:
    response = paint(painter, model)
    assert abs(response["created"] - time.time()) < 5
    assert response["size"] == "32x32" and response["output_format"] == "png"
    (one,) = response["data"]
    assert one["seed"] == 7 and one["revised_prompt"] == PROMPT
    data = base64.b64decode(one["b64_json"])
    assert data.startswith(b"\x89PNG") and opened(data).size == (32, 32)
    assert pixels(data).std() > 5


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.row("A-126")
def test_the_bytes_depend_on_seed_prompt_steps_and_guidance_alone(painter: sotto.Engine, model: str) -> None:
    plain = {"embed_metadata": False}
    (first,) = files(painter, model, **plain)
    assert files(painter, model, **plain) == [first]
    changes = [{"seed": 8}, {"prompt": "a map of the tavern"}, {"steps": 4}, {"guidance_scale": 3}]
    changes.append({"negative_prompt": "a zebra"})
    others = {files(painter, model, **plain, **change)[0] for change in changes}
    assert len(others | {first}) == 1 + len(changes)


def test_an_image_has_the_pixels_that_diffusers_computes(painter: sotto.Engine, pixart: Path) -> None:
    from diffusers import PixArtSigmaPipeline

    pipe = PixArtSigmaPipeline.from_pretrained(pixart, local_files_only=True)
    pipe.set_progress_bar_config(disable=True)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    generator = torch.Generator("cpu").manual_seed(7)
    options = {"clean_caption": False, "use_resolution_binning": False}
    image = pipe(PROMPT, num_inference_steps=3, generator=generator, **options).images[0]
    torch.set_num_threads(threads)
    assert np.array_equal(np.asarray(image), pixels(files(painter, "pixart")[0]))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.row("A-117")
def test_image_i_has_the_seed_plus_i_whatever_n(painter: sotto.Engine, model: str) -> None:
    together = paint(painter, model, n=3)["data"]
    assert [one["seed"] for one in together] == [7, 8, 9]
    for one in together:
        assert paint(painter, model, seed=one["seed"])["data"] == [one]


def test_seeds_wrap_at_32_bits_and_are_random_without_one(painter: sotto.Engine) -> None:
    assert [one["seed"] for one in paint(painter, "sd", seed=2**32 - 1, n=2)["data"]] == [2**32 - 1, 0]
    (first,), (second,) = (paint(painter, "sd", seed=-1)["data"] for _ in range(2))
    assert first["seed"] != second["seed"]
    assert paint(painter, "sd", seed=first["seed"])["data"] == [first]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.row("A-118")
@pytest.mark.parametrize("size", ["16x48", "64x32", "40x48"])
def test_sizes(painter: sotto.Engine, model: str, size: str) -> None:
    assert "x".join(map(str, opened(files(painter, model, size=size)[0]).size)) == size


@pytest.mark.parametrize(
    ("fields", "steps"),
    [
        ({"steps": 2}, 2),
        ({}, 20),
        ({"quality": "low"}, 10),
        ({"quality": "hd"}, 30),
        ({"quality": "medium"}, 20),
    ],
)
def test_each_denoise_step_and_each_decoding_is_a_unit(
    painter: sotto.Engine, fields: dict[str, Any], steps: int
) -> None:
    request = painter.submit("image_generate", {"model": "pixart", "prompt": PROMPT, **fields})
    told = [event.progress for event in events_of(painter, request) if event.kind == "progress"]
    assert len({*told} - {0.0}) == steps + 1 and told == sorted(told) and told[-1] == 1


def test_images_arrive_as_data_where_the_request_says_so(painter: sotto.Engine) -> None:
    request = painter.submit("image_generate", body("sd", n=2, response_format="data"))
    events = events_of(painter, request)
    told = [(json.loads(event.json), event.data) for event in events if event.kind == "data"]
    assert [info["index"] for info, _ in told] == [0, 1]
    assert told[1][0] == {"index": 1, "seed": 8, "width": 32, "height": 32, "format": "png"}
    assert [data for _, data in told] == files(painter, "sd", n=2)
    assert [set(one) for one in json.loads(events[-1].json)["data"]] == [{"seed", "revised_prompt"}] * 2


@pytest.mark.parametrize("model", MODELS)
def test_previews_come_nearer_to_the_image(painter: sotto.Engine, model: str) -> None:
    plain = {"steps": 20, "embed_metadata": False}
    events = events_of(painter, painter.submit("image_generate", body(model, partial_images=3, **plain)))
    told = [json.loads(event.json) for event in events if event.kind == "data"]
    assert [one["step"] for one in told] == [5, 10, 15] and all(one["partial"] for one in told)
    assert [one["partial_image_index"] for one in told] == [0, 1, 2]
    (image,) = files(painter, model, **plain)
    assert base64.b64decode(json.loads(events[-1].json)["data"][0]["b64_json"]) == image
    previews = [pixels(event.data) for event in events if event.kind == "data"]
    apart = [np.abs(preview - pixels(image)).mean() for preview in previews]
    assert apart == sorted(apart, reverse=True) and apart[0] > apart[-1]


def test_the_files_say_how_they_were_made(painter: sotto.Engine) -> None:
    prompt = 'a "red" fox & \u96ea <1>'
    wanted = {"model": "sd", "prompt": prompt, "seed": "7", "steps": "3", "guidance_scale": "2.5"}
    asked = {"prompt": prompt, "guidance_scale": 2.5}
    assert opened(files(painter, "sd", **asked)[0]).text.items() >= wanted.items()  # type: ignore[attr-defined]
    webp = opened(files(painter, "sd", output_format="webp", **asked)[0])
    (found,) = ElementTree.fromstring(webp.info["xmp"]).iter(
        "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}Description"
    )
    assert {
        f"{{urn:sotto:image}}{name}": text for name, text in wanted.items()
    }.items() <= found.attrib.items()
    for form in ("png", "webp"):
        plain = opened(files(painter, "sd", embed_metadata=False, output_format=form, **asked)[0])
        assert not getattr(plain, "text", {}) and "xmp" not in plain.info


def test_webp_is_lossless_at_100_and_smaller_below(painter: sotto.Engine) -> None:
    png, whole, small = (
        files(painter, "sd", **fields)[0]
        for fields in (
            {},
            {"output_format": "webp"},
            {"output_format": "webp", "output_compression": 10, "embed_metadata": False},
        )
    )
    assert np.array_equal(pixels(png), pixels(whole))
    assert len(small) < len(whole) and 0 < np.abs(pixels(png) - pixels(small)).mean() < 60


def test_generation_starts_from_an_image(painter: sotto.Engine, portrait: Image.Image) -> None:
    image = base64_of(portrait)
    plain = {"image": image, "steps": 10, "embed_metadata": False}
    apart = []
    for strength in (0, 0.2, 0.95):
        (made,) = files(painter, "sd", strength=strength, **plain)
        apart.append(np.abs(pixels(made) - np.asarray(portrait).astype(int)).mean())
    assert apart[0] == 0 and apart[1] < apart[2]
    assert paint(painter, "sd", image=image, strength=0.01, steps=1)["data"]
    (wide,) = files(painter, "sd", image=base64_of(portrait.resize((70, 31))))
    assert opened(wide).size == (64, 24)


def test_raw_pixels_are_those_of_the_file(painter: sotto.Engine) -> None:
    (file,), (raw,) = (files(painter, "sd", seed=1, output_format=form) for form in ("png", "raw"))
    assert raw == opened(file).convert("RGBA").tobytes()


def test_a_mask_changes_what_is_transparent_or_else_white(
    painter: sotto.Engine, portrait: Image.Image
) -> None:
    black = Image.new("L", portrait.size, 0)
    black.paste(255, (16, 0, 32, 32))
    transparent = Image.new("RGBA", portrait.size, (255, 255, 255, 255))
    transparent.paste((255, 255, 255, 0), (16, 0, 32, 32))
    made = [
        files(painter, "sd", image=base64_of(portrait), mask=base64_of(mask), strength=0.9)[0]
        for mask in (black, transparent)
    ]
    assert made[0] == made[1]
    apart = np.abs(pixels(made[0]) - np.asarray(portrait).astype(int)).mean(axis=2)
    assert not apart[:, :16].any() and apart[:, 16:].mean() > 1


def test_a_pipeline_without_the_task_says_so(painter: sotto.Engine, portrait: Image.Image) -> None:
    image = base64_of(portrait)
    assert (
        "invalid image: PixArtSigmaPipeline generates images from text alone"
        in refused(painter, "pixart", image=image).error
    )


@pytest.mark.row("A-114", "A-125")
def test_the_example_of_the_reference_runs(engine: sotto.Engine, tmp_path: Path) -> None:
    import tiny_pipelines

    name, folder = "PixArt-alpha/PixArt-Sigma-XL-2-512-MS", tmp_path / "PixArt-Sigma-XL-2-512-MS"
    tiny_pipelines.pixart(folder, 64, (8, 8, 8, 8))
    engine.load_model(name, path=folder, backend="diffusers", options={"steps": 5})
    request = json.dumps(
        {
            "model": name,
            "prompt": "A sunset over mountains",
            "n": 1,
            "size": "512x512",
            "response_format": "b64_json",
        }
    )
    response = json.loads(engine.image_generate(request))
    b64_image = response["data"][0]["b64_json"]
    assert b64_image.startswith("iVBORw0KGgo")
    assert opened(base64.b64decode(b64_image)).size == (512, 512)
    assert response["data"][0]["revised_prompt"] == "A sunset over mountains"
    (odd,) = files(
        engine, name, size="576x448"
    )  # made in the size of the same ratio that PixArt was trained on
    assert opened(odd).size == (576, 448)


def test_the_typed_interface_gets_images_and_previews(painter: sotto.Engine) -> None:
    shown: list[sotto.Image] = []
    made = painter.generate_images(
        PROMPT, model="sd", n=2, size=(32, 48), seed=7, steps=8, on_preview=shown.append
    )
    assert [image.seed for image in made.images] == [7, 8]
    assert [image.png for image in made.images] == files(painter, "sd", n=2, size="32x48", steps=8)
    assert made.images[0].array().shape == (48, 32, 3)
    assert len(shown) >= 2 and all(image.array().shape == (48, 32, 3) for image in shown)


def test_a_pipeline_that_packs_its_latents(
    engine: sotto.Engine, tmp_path: Path, portrait: Image.Image
) -> None:
    import tiny_pipelines

    engine.load_model("m", path=tiny_pipelines.flux(tmp_path / "flux"), backend="diffusers")
    (listed,) = json.loads(engine.model_list())
    assert (listed["details"]["size"], listed["details"]["steps"]) == ("128x128", 28)
    first, second = (files(engine, "m", size="32x48", n=2, embed_metadata=False) for _ in range(2))
    assert first == second and first[0] != first[1] and opened(first[0]).size == (32, 48)
    assert "FluxPipeline packs its latents" in refused(engine, "m", partial_images=1).error
    image = base64_of(portrait)
    assert opened(files(engine, "m", image=image)[0]).size == portrait.size


@pytest.mark.parametrize(
    ("maker", "starts_from_images"),
    [("pixart_alpha", False), ("stable_diffusion_xl", True), ("stable_diffusion_3", True)],
)
def test_other_pipelines(
    engine: sotto.Engine, tmp_path: Path, portrait: Image.Image, maker: str, starts_from_images: bool
) -> None:
    import tiny_pipelines

    engine.load_model("m", path=getattr(tiny_pipelines, maker)(tmp_path / maker), backend="diffusers")
    plain = {"embed_metadata": False, "partial_images": 1}
    first, second = files(engine, "m", size="32x48", n=2, **plain)
    assert first != second and opened(first).size == (32, 48)
    assert files(engine, "m", size="32x48", **plain) == [first]
    request = engine.submit("image_generate", body("m"))
    assert len({event.progress for event in events_of(engine, request) if event.kind == "progress"}) == 5
    given = {"image": base64_of(portrait), "mask": base64_of(Image.new("L", portrait.size, 0))}
    if not starts_from_images:
        assert "generates images from text alone" in refused(engine, "m", **given).error
        return
    assert np.array_equal(pixels(files(engine, "m", **given)[0]), pixels(base64.b64decode(given["image"])))
    del given["mask"]
    assert opened(files(engine, "m", **given)[0]).size == portrait.size


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_the_weights_take_what_the_model_says(engine: sotto.Engine, pixart: Path, dtype: str) -> None:
    from safetensors import safe_open

    values = 0
    for file in pixart.glob("*/*.safetensors"):
        with safe_open(file, "pt") as opened_file:
            values += sum(opened_file.get_tensor(name).numel() for name in opened_file.keys())  # noqa: SIM118
    options = {"dtype": dtype}
    planned = engine.plan_model(pixart, backend="diffusers", options=options)
    engine.load_model("m", path=pixart, backend="diffusers", options=options)
    (listed,) = json.loads(engine.model_list())
    told = [listed["details"][name] for name in ("architecture", "dtype", "size", "size_multiple")]
    assert told == ["PixArtSigmaPipeline", dtype, "32x32", 8]
    expected = values * {"bfloat16": 2, "float32": 4}[dtype]
    assert expected <= listed["bytes"]["weights"] < 1.1 * expected
    used = engine.memory()["used"]
    assert used == listed["bytes"]["weights"] + listed["bytes"]["compute"]
    assert 0.9 * used < planned["rungs"][0]["bytes"] <= used
    assert opened(files(engine, "m")[0]).size == (32, 32)


def test_the_budget_holds_the_largest_image(pixart: Path) -> None:
    from sotto.backends.diffusers import Diffusers

    with sotto.Engine("cpu", vram_budget_mb=16) as engine:
        engine.add_backend(Diffusers())
        with pytest.raises(sotto.ModelLoadError) as refusal:
            engine.load_model("m", path=pixart, backend="diffusers", options={"max_pixels": 1 << 20})
        assert refusal.value.status == sotto.Status.BUDGET
        engine.load_model("m", path=pixart, backend="diffusers")
        assert 0 < engine.memory()["used"] < 16 << 20 and files(engine, "m")


def test_large_images_are_decoded_in_tiles(engine: sotto.Engine, pixart: Path) -> None:
    options = {"max_pixels": 96 * 96}
    for name, tiling in (("tiles", True), ("whole", False)):
        engine.load_model(name, path=pixart, backend="diffusers", options={**options, "tiling": tiling})
    tiles, whole = (pixels(files(engine, name, size="96x96")[0]) for name in ("tiles", "whole"))
    assert 0 < np.abs(tiles - whole).mean() < 40
    small = [files(engine, name, embed_metadata=False) for name in ("tiles", "whole")]
    assert small[0] == small[1]


def test_the_suite_for_backends_passes(pixart: Path) -> None:
    target = Target("sotto.backends.diffusers:Diffusers", str(pixart))
    cases = [name for name in CASES if name != "limit"]  # of texts
    for name in cases:  # here: in a process of its own, each would import PyTorch
        CASES[name](target)
