"""A device that is lost in the middle of what a model does on it: characters go on, on the processor.

ggml has its device for as long as a process lives, so each of these runs in one of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from rung import tell_rung

from conftest import LAYER

SCRIPT = """
import ctypes, json, sys
import sotto

layer = ctypes.CDLL(sys.argv[1])
device, more, in_wait = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
told = {}
with sotto.Engine(device, mode="prioritize_compute") as engine:
    if more >= 0:
        engine.load_model("sotto/house")
        with engine.session("mara", model="sotto/house") as mara:
            told["before"] = mara.say("Who are you?", {"max_tokens": 8})
            layer.sotto_count_lose(ctypes.c_uint64(more), in_wait)
            try:
                mara.say("And what do you sell?", {"max_tokens": 60, "temperature": 0, "ignore_eos": True})
            except sotto.SottoError as error:
                told["why"] = str(error)
            told["after"] = mara.say("What do you sell?", {"max_tokens": 8})
            told["messages"] = len(mara.messages)
    else:
        layer.sotto_count_lose(ctypes.c_uint64(0), in_wait)
        engine.load_model("sotto/house")
        told["after"] = engine.llm_text_completion({"model": "sotto/house", "prompt": "The", "max_tokens": 2})
    told["lost"] = engine.describe()["device_lost"]
    told["model"] = json.loads(engine.model_list())[0]
print(json.dumps(told))
"""


def lose(more: int, in_wait: int) -> dict[str, Any]:
    """What becomes of an engine that loses its device after so many submissions more; -1: while it loads.

    `in_wait`: it is seen first by who waits for what was submitted.
    """
    layer = str(LAYER / "sotto_vulkan_count.so")
    command = [sys.executable, "-c", SCRIPT, layer, "vulkan0", str(more), str(in_wait)]
    done = subprocess.run(command, env=os.environ, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    tell_rung({"rung": "cpu", "not_taken": [{"rung": "vulkan", "reason": told["lost"]}]})
    assert "device" in told["lost"].lower() and "lost" in told["lost"].lower()
    assert told["model"]["backend"] == "llama"
    assert told["after"]
    return told


@pytest.mark.parametrize("more", [0, 7, 40])
@pytest.mark.parametrize("in_wait", [0, 1])
def test_characters_go_on_when_a_device_is_lost(more: int, in_wait: int) -> None:
    told = lose(more, in_wait)
    assert told["why"].startswith("the device was lost: submit the request again (")
    assert told["messages"] == 4


def test_a_model_is_loaded_where_it_can_be() -> None:
    lose(-1, 0)
