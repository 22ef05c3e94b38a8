"""`engine`: what may be changed while it runs."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from typing import Any

import pytest

import sotto
from talk import chat, load_endless, spoken


@pytest.mark.row("A-194", "A-200", "A-204")
@pytest.mark.parametrize(
    ("name", "parameter"),
    [("set_scheduling_mode", "mode"), ("set_vram_budget_mb", "mb"), ("set_target_tps", "tps")],
)
def test_signatures(name: str, parameter: str) -> None:
    signature = inspect.signature(getattr(sotto.Engine, name))
    assert list(signature.parameters) == ["self", parameter] and signature.return_annotation == "None"


@pytest.mark.row("A-194", "A-195", "A-196", "A-197")
def test_modes(open_engine: Callable[..., sotto.Engine]) -> None:
    engine = open_engine(mode="balance")
    assert engine.describe()["mode"] == "balance"
    for mode in ("prioritize_compute", "prioritize_graphics", "balance"):
        assert engine.set_scheduling_mode(mode) is None
        assert engine.describe()["mode"] == mode
    assert open_engine(mode="prioritize_graphics").describe()["mode"] == "prioritize_graphics"


@pytest.mark.row("A-195")
def test_balance_is_the_default() -> None:
    with sotto.Engine() as engine:
        assert engine.describe()["mode"] == "balance"


@pytest.mark.row("A-198")
@pytest.mark.parametrize("mode", ["fast", "", "Balance"])
def test_other_modes_are_refused(engine: sotto.Engine, mode: str) -> None:
    with pytest.raises(ValueError, match=f"invalid mode '{mode}': expected one of \"balance\""):
        engine.set_scheduling_mode(mode)
    assert engine.describe()["mode"] == "prioritize_compute"
    with pytest.raises(ValueError, match="invalid mode "):
        sotto.Engine(mode=mode)


@pytest.mark.row("A-199")
def test_the_mode_changes_under_a_stream(engine: sotto.Engine) -> None:
    load_endless(engine, token_ms=1)
    stream = engine.llm_chat_completion_stream(chat(model="endless", max_tokens=30))
    said = [next(stream)]
    for mode in ("prioritize_graphics", "balance", "prioritize_compute"):
        engine.set_scheduling_mode(mode)
        said += [next(stream), next(stream)]
    assert spoken([*said, *stream]) == " on" * 30


@pytest.mark.row("A-200", "A-201", "A-202")
def test_the_budget_is_kept(engine: sotto.Engine) -> None:
    assert engine.set_vram_budget_mb(100) is None
    assert engine.describe()["vram_budget"] == 100 << 20
    engine.load_model("first", options={"weights": 60 << 20})
    with pytest.raises(
        sotto.ModelLoadError, match=r"second needs 120 MB.*; 60 MB of the budget of 100 MB"
    ) as caught:
        engine.load_model("second", options={"weights": 80 << 20, "kv": 40 << 20})
    assert caught.value.status == -4
    engine.load_model("small", options={"weights": 40 << 20})
    engine.set_vram_budget_mb(0)
    engine.load_model("second", options={"weights": 80 << 20, "kv": 40 << 20})
    assert engine.describe()["bytes_in_use"] == 220 << 20


@pytest.mark.row("A-202")
def test_the_budget_can_be_given_at_start(open_engine: Callable[..., sotto.Engine]) -> None:
    engine = open_engine(vram_budget_mb=10)
    with pytest.raises(sotto.ModelLoadError, match="budget of 10 MB"):
        engine.load_model("npc", options={"weights": 11 << 20})


@pytest.mark.row("A-204", "A-205", "A-206")
def test_the_pace_is_kept_and_lifted(engine: sotto.Engine) -> None:
    engine.load_model("npc", options={"tokens": ["a"] * 16})
    assert engine.describe()["target_tps"] == 0
    assert engine.set_target_tps(30) is None
    began = time.monotonic()
    engine.llm_chat_completion(chat())
    paced = time.monotonic() - began
    assert 0.45 <= paced < 1.5
    engine.set_target_tps(0)
    began = time.monotonic()
    engine.llm_chat_completion(chat())
    assert time.monotonic() - began < paced


@pytest.mark.row("A-204", "A-206")
def test_the_pace_may_be_a_fraction(open_engine: Callable[..., sotto.Engine]) -> None:
    engine = open_engine(target_tps=12.5)
    assert engine.describe()["target_tps"] == 12.5
    engine.set_target_tps(0.5)
    assert engine.describe()["target_tps"] == 0.5


def test_threads() -> None:
    with sotto.Engine(threads=1) as engine:
        assert engine.describe()["cpu"]["cores"] >= 1


BAD: list[tuple[Callable[[sotto.Engine], Any], type[Exception], str]] = [
    (lambda e: e.set_scheduling_mode(1), TypeError, "invalid mode '1': expected one of \"balance\""),
    (lambda e: e.set_scheduling_mode(None), TypeError, "invalid mode 'None'"),
    (
        lambda e: e.set_vram_budget_mb(-1),
        ValueError,
        "invalid mb '-1': expected an integer from 0 to 17592186044415",
    ),
    (lambda e: e.set_vram_budget_mb(1 << 44), ValueError, "invalid mb '17592186044416'"),
    (lambda e: e.set_vram_budget_mb(1.5), TypeError, "invalid mb '1.5': expected an integer"),
    (lambda e: e.set_vram_budget_mb("4096"), TypeError, "invalid mb '4096'"),
    (lambda e: e.set_vram_budget_mb(None), TypeError, "invalid mb 'None'"),
    (lambda e: e.set_target_tps(-1), ValueError, "invalid tps '-1': expected 0 or a positive number"),
    (lambda e: e.set_target_tps(float("nan")), ValueError, "invalid tps 'nan'"),
    (lambda e: e.set_target_tps(float("inf")), ValueError, "invalid tps 'inf'"),
    (lambda e: e.set_target_tps(1e39), ValueError, "invalid tps '1e+39'"),
    (lambda e: e.set_target_tps(10**400), ValueError, "invalid tps '1000"),
    (lambda e: e.set_target_tps("30"), TypeError, "invalid tps '30': expected a number"),
    (lambda e: e.set_target_tps(None), TypeError, "invalid tps 'None'"),
    (lambda e: sotto.Engine(target_tps=-1), ValueError, "invalid target_tps '-1'"),
    (lambda e: sotto.Engine(vram_budget_mb=-1), ValueError, "invalid vram_budget_mb '-1'"),
    (lambda e: sotto.Engine(threads=-1), ValueError, "invalid threads '-1'"),
    (
        lambda e: sotto.Engine(max_requests=-1),
        ValueError,
        "invalid max_requests '-1': expected an integer from 0",
    ),
    (lambda e: sotto.Engine(max_requests=1 << 32), ValueError, "invalid max_requests '4294967296'"),
    (lambda e: sotto.Engine(max_requests="many"), TypeError, "invalid max_requests 'many'"),
    (lambda e: sotto.Engine(module_dir=""), ValueError, "invalid module_dir ''"),
    (lambda e: sotto.Engine(module_dir=7), TypeError, "expected str, bytes or os.PathLike"),
    (lambda e: sotto.Engine(device=""), ValueError, "invalid device ''"),
    (lambda e: sotto.Engine(device=None), TypeError, "invalid device 'None'"),
]


@pytest.mark.row("A-198", "A-203", "A-207")
@pytest.mark.parametrize(("call", "error", "said"), BAD, ids=[said for _, _, said in BAD])
def test_bad_arguments(
    engine: sotto.Engine, call: Callable[[sotto.Engine], Any], error: type[Exception], said: str
) -> None:
    before = engine.describe()
    with pytest.raises(error) as caught:
        call(engine)
    assert str(caught.value).startswith(said)
    assert engine.describe() == before
