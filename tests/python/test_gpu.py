"""Graphics cards, on a double of the CUDA driver: no card is touched, and none is needed."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rung import attach

import sotto
from conftest import BUILD, ENVIRONMENT
from sotto._lib import library_folder
from sotto.gpu import D3D12, Cuda, Vulkan
from sotto.interop import cuda as interop

DOUBLE = BUILD / "cuda_whole" / "libcuda.so.1"
ON_CARD = BUILD / "scripted_on_card"  # the scripted backend, as one that computes with CUDA
KINDS = BUILD / "scripted_kinds"  # the same as "scripted_cuda", beside the one for the processor
RENDERER = D3D12(device=0x2900, queue=0x2800, luid=0x1000000D1)


class Double:
    """Steers it: see tests/gpu/double."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(str(DOUBLE))  # from now on it is what opening libcuda.so.1 finds
        self.library.sotto_double_get.restype = ctypes.c_long
        self.library.sotto_double_misuses.restype = ctypes.c_char_p
        self.library.sotto_double_context.restype = ctypes.c_void_p
        self.set("reset", 2)

    def set(self, what: str, value: int) -> None:
        self.library.sotto_double_set(what.encode(), ctypes.c_long(value))

    def get(self, what: str) -> int:
        return int(self.library.sotto_double_get(what.encode()))

    def context(self, card: int, cig: bool) -> int:
        return int(self.library.sotto_double_context(card, int(cig)))


@pytest.fixture
def double() -> Iterator[Double]:
    """The double. What was made of it is given back after the test."""
    found = Double()
    yield found
    assert found.library.sotto_double_misuses() == b""
    assert found.get("contexts") == found.get("streams") == 0


@pytest.fixture
def on_card(double: Double, open_engine: Callable[..., sotto.Engine]) -> Iterator[sotto.Engine]:
    """An engine whose backend computes with CUDA, as far as it can see."""
    with open_engine(module_dir=ON_CARD) as engine:
        yield engine


def test_cards_are_described_with_what_they_cannot_and_why(double: Double) -> None:
    first, second = sotto.gpu.gpus()
    assert (first.name, first.capability, first.driver, first.vram) == ("Double 0", 89, "13.0", 8 << 30)
    assert second.luid == RENDERER.luid and second.uuid == "10111213-1415-1617-1819-1a1b1c1d1e1f"
    assert not first.cig_d3d12 and "attribute 135 is 0" in first.cig_d3d12_reason
    assert not first.cig_vulkan and "attribute 138 is 0" in first.cig_vulkan_reason
    assert second.cig_d3d12 and second.cig_vulkan and second.cig_vulkan_reason == ""
    assert sotto.gpu.why_none() == ""


@pytest.mark.row("A-208", "A-210", "A-211", "A-213", "A-214")
@pytest.mark.parametrize("d3d12", [0, 1])
@pytest.mark.parametrize("vulkan", [0, 1])
def test_whether_a_card_can_be_shared_is_what_the_driver_says(
    double: Double, d3d12: int, vulkan: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    double.set("d3d12", d3d12)
    double.set("vulkan", vulkan)
    before = double.get("calls")
    assert not sotto.Engine.is_cig_d3d12_supported(1) and not sotto.Engine.is_cig_vulkan_supported(1)
    assert double.get("calls") == before  # no driver is asked for what nothing here could use
    assert sotto.gpu.why_no_cuda() == f"module sotto_llama_cuda was not found in {library_folder()}"
    (tmp_path / "sotto_llama_cuda-native.so").touch()
    monkeypatch.setattr(sotto.gpu, "library_folder", lambda: tmp_path)
    assert sotto.gpu.why_no_cuda() == ""
    assert sotto.Engine.is_cig_d3d12_supported(1) is bool(d3d12)
    assert sotto.Engine.is_cig_vulkan_supported(1) is bool(vulkan)
    assert not sotto.Engine.is_cig_d3d12_supported() and not sotto.Engine.is_cig_vulkan_supported(9)


@pytest.fixture
def cuda_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed CUDA module, as far as the package can see."""
    (tmp_path / "sotto_llama_cuda-native.so").touch()
    monkeypatch.setattr(sotto.gpu, "library_folder", lambda: tmp_path)


@pytest.mark.row("A-209", "A-212")
@pytest.mark.usefixtures("cuda_module")
@pytest.mark.parametrize("driver", [565, 570])
@pytest.mark.parametrize("capability", [86, 89])
@pytest.mark.parametrize("cuda", [12070, 12080, 12090])
def test_cig_needs_a_driver_a_version_of_cuda_and_a_card(
    double: Double, driver: int, cuda: int, capability: int
) -> None:
    for name, value in (("driver", driver), ("version", cuda), ("capability", capability)):
        double.set(name, value)
    new = driver >= 570 and capability >= 89
    assert sotto.Engine.is_cig_d3d12_supported(1) is (new and cuda >= 12080)
    assert sotto.Engine.is_cig_vulkan_supported(1) is (new and cuda >= 12090)
    card = sotto.gpu.gpus()[1]
    for reason, minimum, api in (
        (card.cig_d3d12_reason, 12080, "Direct3D 12"),
        (card.cig_vulkan_reason, 12090, "Vulkan"),
    ):
        assert ("the NVIDIA driver is 565.88" in reason) is (driver < 570)
        assert (f"the driver supports CUDA 12.{cuda // 10 % 10};" in reason) is (cuda < minimum)
        assert ("the GPU has compute capability 8.6;" in reason) is (capability < 89)
        assert reason == "" or f"CiG with {api} requires driver 570 or newer" in reason
    double.set("luids", 0)  # as on Linux
    assert not sotto.Engine.is_cig_d3d12_supported(1)
    assert "Direct3D 12 exists on Windows only" in sotto.gpu.gpus()[1].cig_d3d12_reason
    assert sotto.Engine.is_cig_vulkan_supported(1) is (new and cuda >= 12090)


@pytest.mark.row("A-209", "A-212")
@pytest.mark.usefixtures("cuda_module")
def test_a_driver_of_unknown_version_shares_no_card(double: Double) -> None:
    double.set("driver", 0)
    assert not sotto.Engine.is_cig_d3d12_supported(1) and not sotto.Engine.is_cig_vulkan_supported(1)
    assert "the NVIDIA driver is of unknown version" in sotto.gpu.gpus()[1].cig_vulkan_reason


def test_auto_is_the_best_card_that_a_module_can_use(open_engine: Callable[..., sotto.Engine]) -> None:
    with open_engine(device="auto", module_dir=KINDS) as engine:
        about = engine.describe()
        assert about["device"] == "cuda2"
        assert about["device_reason"] == "Large is the best card that scripted_cuda can use"
        engine.load_model("npc", options={})
    with open_engine(device="auto", module_dir=BUILD / "scripted") as engine:
        about = engine.describe()
        assert about["device"] == "cpu"
        assert about["device_reason"].startswith("not cuda: no backend for device 'cuda' was found in ")
        assert "; not vulkan: no backend for device 'vulkan' was found in " in about["device_reason"]
    with open_engine(device="cpu", module_dir=KINDS) as engine:
        assert engine.describe()["device_reason"] is None


def test_where_there_is_no_card_it_says_why(double: Double) -> None:
    double.set("cards", 0)
    assert sotto.gpu.gpus() == []
    assert sotto.gpu.why_none() == "device 0 does not exist: the CUDA driver reports 0 devices"
    assert sotto.Engine.is_cig_d3d12_supported(0) is False


def test_an_engine_shares_a_card_and_lets_it_go(double: Double, on_card: sotto.Engine) -> None:
    assert on_card.describe()["gpu"] is None
    assert attach(on_card, RENDERER) == "cig"
    shown = on_card.describe()["gpu"]
    assert (shown["rung"], shown["with"], shown["card"]["name"]) == ("cig", "d3d12", "Double 1")
    assert shown["backends"] == ["scripted"]
    on_card.load_model("npc", options={})
    with on_card.session("mara", model="npc") as mara:
        assert mara.say("first") == "first"
        assert on_card.detach_gpu() is True
        assert double.get("contexts") == 0
        assert mara.say("second") == "second"
        assert attach(on_card, RENDERER) == "cig"
        assert mara.say("third") == "third"
    assert on_card.detach_gpu() is True and on_card.detach_gpu() is False


def backend_of(engine: sotto.Engine) -> str:
    """Of its one model."""
    return str(json.loads(engine.model_list())[0]["backend"])


def test_models_move_to_the_build_for_cuda_and_back(
    double: Double, open_engine: Callable[..., sotto.Engine]
) -> None:
    with open_engine(device="cpu", module_dir=KINDS) as engine:
        engine.load_model("npc", options={})
        with engine.session("mara", model="npc") as mara:
            assert mara.say("first") == "first" and backend_of(engine) == "scripted"
            assert attach(engine, RENDERER) == "cig"
            assert engine.describe()["gpu"]["backends"] == ["scripted_cuda"]
            end = time.monotonic() + 10
            while backend_of(engine) != "scripted_cuda" and time.monotonic() < end:
                assert mara.say("second") == "second"  # idle models go there, and come when they are asked
            assert backend_of(engine) == "scripted_cuda"
            assert engine.detach_gpu() and double.get("contexts") == 0
            assert mara.say("third") == "third" and backend_of(engine) == "scripted"
    with open_engine(device="cuda0", module_dir=KINDS) as engine:  # in the primary context
        engine.load_model("npc", options={})
        assert backend_of(engine) == "scripted_cuda" and double.get("contexts") == 0


def test_what_is_not_close_enough_is_refused_with_the_reason(double: Double, on_card: sotto.Engine) -> None:
    with pytest.raises(
        sotto.SottoError, match=r"invalid gpu->min_sharing 'cig': expected at most 'cuda'.*attribute 135 is 0"
    ):
        on_card.attach_gpu(D3D12(1, 2, luid=0x1000000D0), min_sharing="cig")
    assert on_card.describe()["gpu"] is None
    assert attach(on_card, D3D12(1, 2, luid=7)) == "cpu"
    not_taken = on_card.describe()["gpu"]["not_taken"]
    assert [one["rung"] for one in not_taken] == ["cig", "cuda", "vulkan"]
    assert "no CUDA device has the LUID 0x7" in not_taken[0]["reason"]


def test_without_a_backend_for_it_no_driver_is_asked(double: Double, engine: sotto.Engine) -> None:
    before = double.get("calls")
    assert attach(engine, RENDERER) == "cpu"
    assert double.get("calls") == before


@pytest.mark.parametrize(
    ("renderer", "why"),
    [
        (D3D12(0, 2, 3), "missing d3d12->device: expected a pointer"),
        (D3D12(1, 0, 3), "missing d3d12->queue: expected a pointer"),
        (D3D12(1, 2), "missing d3d12->luid: expected the LUID"),
        (D3D12(1, 2, -1), "invalid luid '-1'"),
        (Vulkan(1, 2, 3, 0), "missing vulkan->queue: expected a pointer"),
        (Cuda(0), "missing cuda->context: expected a pointer"),
    ],
)
def test_half_a_renderer_is_refused_in_words(on_card: sotto.Engine, renderer: object, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        on_card.attach_gpu(renderer)  # type: ignore[arg-type]


def test_what_is_no_renderer_is_refused(on_card: sotto.Engine) -> None:
    with pytest.raises(TypeError, match=r"expected a sotto\.gpu\.D3D12, Vulkan or Cuda"):
        on_card.attach_gpu("the first one")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"invalid min_sharing 'best': expected one of"):
        on_card.attach_gpu(RENDERER, min_sharing="best")


def test_a_context_of_cuda_python_is_taken(double: Double, on_card: sotto.Engine) -> None:
    driver = pytest.importorskip("cuda.bindings.driver")
    address = double.context(1, True)
    assert interop.renderer(driver.CUcontext(address)) == Cuda(address)
    assert attach(on_card, interop.renderer(driver.CUcontext(address))) == "cig"
    on_card.detach_gpu()
    double.library.sotto_double_context_gone(ctypes.c_void_p(address))
    with pytest.raises(ValueError, match="invalid context 'NULL': expected a CUcontext"):
        interop.renderer(driver.CUcontext())
    with pytest.raises(TypeError, match=r"expected a cuda\.bindings\.driver\.CUcontext"):
        interop.renderer(address)


def test_without_cuda_python_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    with pytest.raises(ImportError, match=r"pip install sotto-runtime\[cuda\]"):
        interop.renderer(object())


def doctor(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sotto.cli", "doctor", "--gpu", *words]
    found = {**ENVIRONMENT, **environment, "COLUMNS": "200"}
    return subprocess.run(command, env=found, capture_output=True, text=True, check=False)


def test_the_doctor_asks_the_driver() -> None:
    path = os.pathsep.join([str(DOUBLE.parent), os.environ.get("LD_LIBRARY_PATH", "")])
    report = json.loads(doctor("--json", LD_LIBRARY_PATH=path).stdout)
    assert [card["name"] for card in report["gpus"]] == ["Double 0", "Double 1"]
    assert report["gpus"][1]["cig_vulkan"] and report["gpus_reason"] == ""
    assert "Direct3D 12 exists on Windows only" in report["gpus"][1]["cig_d3d12_reason"]
    said = doctor(LD_LIBRARY_PATH=path).stdout
    assert "Double 1: 8.0 GiB" in said or "Double 1: 8" in said
    assert "CiG with Vulkan: yes" in said and "attribute 138 is 0" in said
    half = os.pathsep.join([str(BUILD / "cuda_half"), os.environ.get("LD_LIBRARY_PATH", "")])
    assert "lacks cuCtxPushCurrent_v2; reinstall the driver" in doctor(LD_LIBRARY_PATH=half).stdout
