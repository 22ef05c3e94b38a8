"""Where models run is what was asked for, and what cannot be had is told."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import sotto
from conftest import DEVICE, ENVIRONMENT, HOUSE, LAYER

SPEAK = {"model": HOUSE, "prompt": "The innkeeper said", "max_tokens": 8, "temperature": 0}


def devices(engine: sotto.Engine) -> dict[str, dict[str, str]]:
    """Of the Vulkan module, as it tells them."""
    backends = {backend["name"]: backend["details"] for backend in engine.describe()["backends"]}
    return backends["llama_vulkan"]["devices"]


def test_devices_are_told(engine: sotto.Engine) -> None:
    assert engine.describe()["device"] == DEVICE
    device = devices(engine)[DEVICE]
    assert device["name"] and len(device["uuid"]) == 36 and device["memory"] > 1 << 28
    print(f"{DEVICE} is {device['name']} ({device['type']})")


def test_the_house_model_speaks(house: sotto.Engine) -> None:
    (model,) = json.loads(house.model_list())
    assert (model["backend"], model["details"]["gpu_layers"]) == (
        "llama_vulkan",
        model["details"]["layers"] + 1,
    )
    assert model["details"]["device"] == devices(house)[DEVICE]["name"]
    assert model["bytes"]["weights"] > 1 << 20 and model["bytes"]["host"] > 1 << 16
    (choice,) = json.loads(house.llm_text_completion(SPEAK))["choices"]
    assert choice["text"].strip()


def test_a_device_by_its_uuid(engine: sotto.Engine) -> None:
    uuid = devices(engine)[DEVICE]["uuid"]
    with sotto.Engine(f"vulkan:{uuid.upper()}") as by_uuid:
        assert by_uuid.plan_model(HOUSE)["rungs"][0]["layers"] > 1


def test_the_processor_stays_the_processor() -> None:
    with sotto.Engine("cpu") as engine:
        engine.load_model(HOUSE)
        (model,) = json.loads(engine.model_list())
        assert (model["backend"], model["details"]["device"], model["bytes"]["host"]) == ("llama", "cpu", 0)


@pytest.mark.parametrize("which", ["vulkan7", "vulkan:00000000-0000-0000-0000-000000000000"])
def test_a_device_that_is_not_there(which: str) -> None:
    with sotto.Engine(which) as engine, pytest.raises(sotto.SottoError) as refused:
        engine.load_model(HOUSE)
    assert f"invalid device '{which}'" in str(refused.value) and f"{DEVICE} (" in str(refused.value)


@pytest.mark.parametrize("which", ["vulcan", "vulkan-0", "vulkan0,1", "Vulkan"])
def test_no_name_of_a_device(which: str) -> None:
    with pytest.raises(sotto.ArgumentError, match=f"invalid device '{which}': expected"):
        sotto.Engine(which)


@pytest.mark.parametrize("layers", [0, 1, 3])
def test_some_layers_on_the_device(layers: int, engine: sotto.Engine, house: sotto.Engine) -> None:
    engine.load_model(HOUSE, options={"gpu_layers": layers})
    some, whole = (json.loads(one.model_list())[0] for one in (engine, house))
    assert some["details"]["gpu_layers"] == layers
    assert (
        some["bytes"]["weights"] < whole["bytes"]["weights"]
        and some["bytes"]["host"] > whole["bytes"]["host"]
    )
    text = [json.loads(one.llm_text_completion(SPEAK))["choices"][0]["text"] for one in (engine, house)]
    assert text[0].split()[:2] == text[1].split()[:2]


def test_layers_that_make_no_sense(engine: sotto.Engine) -> None:
    with pytest.raises(
        sotto.ArgumentError, match=r"invalid options.gpu_layers '-1': expected an integer from 0"
    ):
        engine.load_model(HOUSE, options={"gpu_layers": -1})


WITHOUT = """
import sotto
with sotto.Engine("vulkan0") as engine:
    passed = [one["reason"] for one in engine.describe()["modules_passed_over"] if "vulkan" in one["path"]]
    print("passed over:", *passed)
    try:
        engine.load_model("sotto/house")
    except sotto.SottoError as error:
        print("refused:", error)
with sotto.Engine() as engine:
    engine.load_model("sotto/house")
    print("speaks:", engine.llm_text_completion({"model": "sotto/house", "prompt": "The", "max_tokens": 2}))
"""


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({"LD_PRELOAD": str(LAYER / "sotto_no_vulkan.so")}, "no Vulkan loader was found"),
        (
            {"VK_DRIVER_FILES": "/nowhere.json", "VK_ICD_FILENAMES": "/nowhere.json"},
            "no Vulkan driver was found",
        ),
    ],
)
def test_a_machine_without_vulkan(variables: dict[str, str], why: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT],
        env={**ENVIRONMENT, **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = dict(line.split(":", 1) for line in done.stdout.splitlines())
    assert why in told["passed over"] and why in told["refused"] and "choices" in told["speaks"]
    assert "for device 'vulkan0'" in told["refused"]


LEAVE = """
import os, sotto
engine = sotto.Engine("vulkan0", mode="prioritize_compute")
engine.load_model("sotto/house")
body = {"model": "sotto/house", "prompt": "The", "max_tokens": 400, "ignore_eos": True}
stream = engine.llm_text_completion_stream(body)
next(iter(stream))
import ctypes
ctypes.CDLL(None).exit(7)
"""


def test_a_process_may_end_while_it_speaks() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LEAVE],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 7, done.stderr


def test_auto_takes_no_device_that_only_passes_for_a_card() -> None:
    with sotto.Engine("auto") as engine:
        about = engine.describe()
        assert about["device"] == "cpu"
        assert "; not vulkan: llvmpipe" in about["device_reason"]
        assert "is not a discrete device (cpu)" in about["device_reason"]
