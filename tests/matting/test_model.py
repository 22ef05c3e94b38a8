"""The matting model cuts out things of families that were never trained."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import sotto
from conftest import encoded, matte

FOLDER = Path(__file__).resolve().parents[2] / "samples" / "matting_model"
sys.path.insert(0, str(FOLDER))

import held_things  # noqa: E402
import scenery  # noqa: E402
import things  # noqa: E402
from composing import TEST_COUNT, TEST_SIZE, Composed, held_pictures  # noqa: E402
from scoring import MODEL, Matting, score, scores  # noqa: E402

MIN_IOU = 0.9


@pytest.fixture(scope="module")
def matting() -> Matting:
    return Matting()


@pytest.fixture(scope="module")
def pictures() -> list[Composed]:
    return list(held_pictures())


def test_alpha_of_things_that_were_never_trained(matting: Matting, pictures: list[Composed]) -> None:
    found = scores(matting, pictures)
    iou, error = (float(np.mean([getattr(one, name) for one in found])) for name in ("iou", "error"))
    print(f"matting: mean IoU {iou:.4f}, mean absolute error {error:.4f}")
    assert len(found) == TEST_COUNT == 100
    assert iou >= MIN_IOU, sorted(one.iou for one in found)[:5]


def test_the_engine_cuts_out_the_same_things(pictures: list[Composed]) -> None:
    found = []
    with sotto.Engine("cpu", mode="prioritize_compute") as engine:
        engine.load_model("sotto/matting")
        assert engine.memory()["used"] < 96 << 20
        for one in pictures:
            alpha = matte(engine, encoded(Image.fromarray(one.rgb)), "sotto/matting", mask_only=True)
            found.append(score(np.asarray(alpha, np.float32) / 255, one.alpha))
    assert float(np.mean([one.iou for one in found])) >= MIN_IOU


def test_families_and_backgrounds_of_the_test_are_never_trained() -> None:
    assert not set(held_things.HELD) & set(things.TRAINED)
    assert len(set(held_things.HELD)) == 8
    assert {scenery.marble, scenery.room} == set(scenery.HELD) - set(scenery.TRAINED)


def test_a_seed_makes_the_same_pictures(pictures: list[Composed]) -> None:
    for first, again in zip(pictures, held_pictures(3), strict=False):
        assert np.array_equal(first.rgb, again.rgb) and np.array_equal(first.alpha, again.alpha)
    other = next(held_pictures(1, seed=1))
    assert not np.array_equal(other.alpha, pictures[0].alpha)


def test_pictures_have_the_stated_form(pictures: list[Composed]) -> None:
    for one in pictures:
        assert one.rgb.shape == (TEST_SIZE, TEST_SIZE, 3) and one.rgb.dtype == np.uint8
        assert one.alpha.shape == (TEST_SIZE, TEST_SIZE)
        assert 0.005 < (one.alpha > 127).mean() < 0.95


def test_pictures_are_made_fast() -> None:
    began = time.process_time()
    assert len(list(held_pictures(10))) == 10
    assert time.process_time() - began < 2.0  # 20 s for all of them


def test_the_file_states_its_preprocessing(matting: Matting) -> None:
    assert MODEL.stat().st_size <= 5_000_000
    size = str(matting.size)
    wanted = {
        "sotto.mean": "0.5,0.5,0.5",
        "sotto.std": "1.0,1.0,1.0",
        "sotto.size": size,
        "sotto.output": "alpha",
    }
    assert {key: matting.metadata.get(key) for key in wanted} == wanted
    (given,), (made,) = matting.session.get_inputs(), matting.session.get_outputs()
    assert (given.shape, given.type) == ([1, 3, matting.size, matting.size], "tensor(float)")
    assert (made.name, made.shape, made.type) == (
        "alpha",
        [1, 1, matting.size, matting.size],
        "tensor(float)",
    )


@pytest.mark.parametrize("size", [(1, 1), (3, 700), (1920, 1080)])
def test_alpha_has_the_size_of_the_picture(matting: Matting, size: tuple[int, int]) -> None:
    rgb = np.random.default_rng(1).integers(0, 256, (size[1], size[0], 3), np.uint8)
    alpha = matting.alpha(rgb)
    assert alpha.shape == (size[1], size[0])
    assert alpha.min() >= 0 and alpha.max() <= 1


def test_an_empty_prediction_scores_zero(pictures: list[Composed]) -> None:
    true = pictures[0].alpha
    assert score(np.zeros(true.shape, np.float32), true).iou == 0
    assert score(true / np.float32(255), true).iou == 1


def test_the_backgrounds_are_opaque_pictures_of_the_asked_size() -> None:
    for make in set(scenery.HELD):
        made = make(np.random.default_rng(4), 96)
        assert isinstance(made, Image.Image) and made.size == (96, 96) and made.mode == "RGB", make.__name__
