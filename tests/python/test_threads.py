"""The engine under many threads at once."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

import pytest

import sotto
from talk import chat, content, prompt, spoken


@pytest.mark.row("A-041")
def test_sixteen_threads_with_twenty_mixed_calls_each(npc: sotto.Engine) -> None:
    wrong: list[object] = []

    def work(number: int) -> None:
        dice = random.Random(number)
        said = f"thread {number} speaks"

        def reload() -> None:
            name = f"own {number}"
            npc.load_model(name, options={"tokens": [said]})
            assert npc.model_is_loaded(name)
            assert content(npc.llm_chat_completion(chat(model=name))) == said
            npc.unload_model(name)

        def cut() -> None:
            next(npc.llm_chat_completion_stream(chat(said)))

        def miss() -> None:
            with pytest.raises(sotto.InferenceError):
                npc.llm_chat_completion(chat(model="ghost"))
            with pytest.raises(ValueError, match="invalid max_tokens '0'"):
                npc.llm_text_completion(prompt(max_tokens=0))

        def same(found: str) -> None:
            assert found == said, found

        calls: list[Callable[[], object]] = [
            lambda: same(content(npc.llm_chat_completion(chat(said)))),
            lambda: same(spoken(npc.llm_chat_completion_stream(chat(said)))),
            lambda: npc.llm_text_completion(prompt(said)),
            lambda: npc.cancel(npc.submit("chat", chat(said))),
            lambda: npc.set_scheduling_mode(dice.choice(["balance", "prioritize_compute"])),
            lambda: npc.set_target_tps(dice.choice([0, 500])),
            lambda: npc.set_vram_budget_mb(dice.choice([0, 64, 4096])),
            lambda: (npc.memory(), npc.stats(), npc.plan_model("own", options={"weights": 1 << 20})),
            lambda: (npc.frame_begin(), npc.frame_end(), list(npc.events()), npc.wait(0)),
            lambda: (npc.model_list(), npc.describe()),
            reload,
            cut,
            miss,
        ]
        for _ in range(20):
            try:
                dice.choice(calls)()
            except BaseException as error:
                wrong.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert wrong == [] and not any(thread.is_alive() for thread in threads)
    npc.set_scheduling_mode("prioritize_compute")
    assert content(npc.llm_chat_completion(chat("all well"))) == "all well"


@pytest.mark.row("A-041")
def test_threads_that_load_the_same_model(engine: sotto.Engine) -> None:
    options = {"load_ms": 100, "weights": 5}
    threads = [
        threading.Thread(target=engine.load_model, args=("npc",), kwargs={"options": options})
        for _ in "12345"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert engine.describe()["bytes_in_use"] == 5


@pytest.mark.parametrize("round_", range(5))
def test_closing_while_everybody_works(open_engine: Callable[..., sotto.Engine], round_: int) -> None:
    engine = open_engine()
    engine.load_model("npc", options={"tokens": ["a"] * 20, "token_ms": 1})
    strange: list[BaseException] = []
    begun = threading.Barrier(9)

    def work() -> None:
        begun.wait()
        try:
            while True:
                spoken(engine.llm_chat_completion_stream(chat()))
                engine.submit("chat", chat())
                list(engine.events())
                engine.describe()
        except sotto.SottoError as error:
            if "closed" not in str(error) and "destroyed" not in str(error):
                strange.append(error)
        except BaseException as error:
            strange.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    begun.wait()
    threading.Event().wait(0.02 * round_)
    engine.close()
    for thread in threads:
        thread.join(5)
    assert strange == [] and not any(thread.is_alive() for thread in threads)
