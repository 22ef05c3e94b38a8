"""A renderer's Vulkan device is handed over, with objects of the `vulkan` package."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest
from renderer import Renderer
from rung import attach

import sotto
import vulkan as vk
from conftest import ENVIRONMENT, HOUSE
from sotto.interop import vulkan


@pytest.fixture(scope="module")
def renderer() -> Iterator[Renderer]:
    """One that draws nothing."""
    with Renderer() as made:
        yield made


def test_models_run_on_the_renderers_card(renderer: Renderer) -> None:
    with sotto.Engine("auto", mode="prioritize_compute") as engine:
        assert attach(engine, renderer.handed) == "vulkan"
        gpu = engine.describe()["gpu"]
        assert (gpu["rung"], gpu["with"]) == ("vulkan", "vulkan")
        assert [one["rung"] for one in gpu["not_taken"]] == ["cig", "cuda"]
        assert all(one["reason"] for one in gpu["not_taken"])
        engine.load_model(HOUSE)
        (model,) = json.loads(engine.model_list())
        assert model["backend"] == "llama_vulkan" and model["details"]["gpu_layers"] > 1
        assert engine.llm_text_completion({"model": HOUSE, "prompt": "The", "max_tokens": 2})
        engine.detach_gpu()
        assert engine.describe()["gpu"] is None
        engine.unload_model(HOUSE)
        engine.load_model(HOUSE)
        assert json.loads(engine.model_list())[0]["backend"] == "llama"


def test_attached_and_detached_again_and_again(renderer: Renderer) -> None:
    with sotto.Engine() as engine:
        for _ in range(50):
            assert attach(engine, renderer.handed, min_sharing="vulkan") == "vulkan"
            engine.detach_gpu()


def test_closer_than_can_be_had(renderer: Renderer) -> None:
    with sotto.Engine() as engine, pytest.raises(sotto.SottoError, match="invalid gpu->min_sharing 'cig'"):
        engine.attach_gpu(renderer.handed, min_sharing="cig")


def test_what_a_device_must_be_made_with(renderer: Renderer) -> None:
    needs = vulkan.needs(renderer.instance, renderer.physical_device)
    assert needs == renderer.needs and (needs.extensions, needs.next) == ([], None)
    assert "VK_NV_external_compute_queue" in needs.reason
    with pytest.raises(TypeError, match=r"invalid physical_device '.*': expected a VkPhysicalDevice"):
        vulkan.needs(renderer.instance, renderer.device)


def test_objects_of_another_kind(renderer: Renderer) -> None:
    with pytest.raises(TypeError, match=r"invalid device '.*': expected a VkDevice of the package vulkan"):
        vulkan.renderer(renderer.instance, renderer.physical_device, renderer.instance, renderer.queue)
    with pytest.raises(TypeError, match="invalid instance '7'"):
        vulkan.renderer(7, renderer.physical_device, renderer.device, renderer.queue)
    null = vk.ffi.cast("VkQueue", 0)
    with pytest.raises(sotto.ArgumentError, match="invalid queue 'NULL': expected a VkQueue"):
        vulkan.renderer(renderer.instance, renderer.physical_device, renderer.device, null)


def test_without_the_package() -> None:
    lines = ["import sys", "sys.modules['vulkan'] = None", "from sotto.interop import vulkan"]
    script = "\n".join([*lines, "vulkan.renderer(1, 2, 3, 4)"])
    done = subprocess.run(
        [sys.executable, "-c", script], env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert "ImportError: sotto.interop.vulkan needs the package vulkan; pip install" in done.stderr
