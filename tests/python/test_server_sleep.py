"""Models that leave memory when nobody asks, and return for the next request."""

from __future__ import annotations

import json
import threading
import time

import pytest

pytest.importorskip("uvicorn", reason="needs the extra 'server'")

import serving


def weights(server: serving.Served) -> float:
    text = server.ask("/metrics")[2]
    return float(next(line for line in text.splitlines() if 'purpose="weights"' in line).split()[-1])


def test_idle_models_sleep_and_the_next_request_wakes_them() -> None:
    said = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 6, "temperature": 0}
    with serving.served("--sleep-idle-seconds", "0.5") as server:
        before = server.ask("/v1/chat/completions", said)[2]["choices"][0]["message"]
        assert weights(server) > 1e6 and server.ask("/props")[2]["is_sleeping"] is False
        end = time.monotonic() + 20
        while weights(server) and time.monotonic() < end:
            assert server.ask("/health")[0] == 200  # does not wake them
            time.sleep(0.05)
        assert weights(server) == 0 and server.ask("/props")[2]["is_sleeping"] is True
        assert server.ask("/v1/models")[2]["data"][0]["id"] == "sotto/house"
        assert server.ask("/v1/chat/completions", said)[2]["choices"][0]["message"] == before
        assert server.ask("/props")[2]["is_sleeping"] is False


def test_a_long_stream_does_not_let_its_model_sleep() -> None:
    asked = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 50, "ignore_eos": True}
    with serving.served("--sleep-idle-seconds", "0.5") as server:
        said: list[str] = []
        paced = {**asked, "target_tps": 20}
        stream = threading.Thread(target=lambda: said.extend(server.events("/v1/chat/completions", paced)))
        stream.start()
        time.sleep(1.8)
        assert stream.is_alive() and weights(server) > 1e6
        stream.join(30)
        assert json.loads(said[-2])["choices"][0]["finish_reason"] == "length"
