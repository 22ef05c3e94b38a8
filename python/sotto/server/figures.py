"""The figures of an engine as metrics: under names of Sotto, of llama.cpp, and of inference gateways."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from ..memory import Memory
from ..stats import Stats
from .outcomes import Outcome


class _Figure(NamedTuple):
    name: str
    help: str
    read: Callable[[Stats], float]


_COUNTERS = (
    _Figure("frames", "Frames that the game reported.", lambda now: now.frames),
    _Figure("frames_missed", "Frames whose work exceeded their period.", lambda now: now.frames_missed),
    _Figure("prompt_tokens", "Prompt tokens prefilled, without cached ones.", lambda now: now.prompt_tokens),
    _Figure("cached_prompt_tokens", "Prompt tokens reused.", lambda now: now.cached_prompt_tokens),
    _Figure("completion_tokens", "Tokens generated.", lambda now: now.completion_tokens),
    _Figure("slices", "Scheduled backend steps.", lambda now: now.slices),
    _Figure("slice_seconds", "Time of all slices.", lambda now: now.slice_ns / 1e9),
    _Figure("gated_seconds", "Part of it spent waiting for the game.", lambda now: now.gated_ns / 1e9),
)  # fmt: skip
_GAUGES = (
    _Figure("share", "Duty cycle: share of time that models may compute, 0 to 1.", lambda now: now.share),
    _Figure("busy", "Share of the last second in which models computed.", lambda now: now.busy),
    _Figure("threads", "Threads per step.", lambda now: now.threads),
    _Figure("tokens_per_second", "Tokens generated in the last second.", lambda now: now.tokens_per_s),
    _Figure("prompt_tokens_per_second", "Prompt tokens prefilled in it.", lambda now: now.prompt_per_s),
    _Figure("queue_wait_max_seconds", "Longest queue wait now.", lambda now: now.queue_wait_max_ms / 1e3),
    _Figure("step_p99_seconds", "p99 step time over the last 256 steps.", lambda now: now.step_p99_ms / 1000),
    _Figure("bytes_in_use", "Bytes in use by all models.", lambda now: now.bytes_in_use),
    _Figure("bytes_peak", "Highest value of bytes_in_use so far.", lambda now: now.bytes_peak),
    _Figure("budget_bytes", "Memory budget of all models; 0: no limit.", lambda now: now.vram_budget),
    _Figure("models_evicted", "Evicted models; a request reloads one.", lambda now: now.models_evicted),
)  # fmt: skip
_STATES = ("waiting", "prefilling", "decoding", "parked")
_RESULTS = ("finished", "failed", "cancelled")
_QUANTILES = {"0.5": "frame_p50_ms", "0.95": "frame_p95_ms", "0.99": "frame_p99_ms"}


def ours(now: Stats, memory: Memory) -> Iterator[Metric]:
    """Yields the engine's figures under names of Sotto."""
    for name, help, read in _COUNTERS:
        yield CounterMetricFamily(f"sotto_{name}", help, read(now))
    for name, help, read in _GAUGES:
        yield GaugeMetricFamily(f"sotto_{name}", help, read(now))
    states = {state: getattr(now, state) for state in _STATES}
    results = {result: getattr(now, result) for result in _RESULTS}
    purposes = {purpose: use["used"] for purpose, use in memory["uses"].items()}
    gauge, counter = GaugeMetricFamily, CounterMetricFamily
    yield _labelled(gauge, "sotto_answers", "Answers that have not ended.", "state", states)
    yield _labelled(counter, "sotto_requests_ended", "Requests of the engine.", "result", results)
    yield _labelled(gauge, "sotto_bytes", "Bytes in use by all models.", "purpose", purposes)
    yield _labelled(gauge, "sotto_mode", "1 for the scheduling mode.", "mode", {now.mode: 1})
    yield gauge("sotto_bytes_over_budget", "Bytes in use above the budget.", memory["over"])
    if now.frames:
        work = {quantile: getattr(now, name) / 1000 for quantile, name in _QUANTILES.items()}
        yield _labelled(gauge, "sotto_frame_seconds", "Work of the last 128 frames.", "quantile", work)


@dataclass
class Sums:
    """Sums over the answers that have ended. `rates()` covers those since the last scrape.

    Attributes:
        prefilled: Prompt tokens, without cached ones.
        cached: Prompt tokens that were reused.
        generated: Tokens generated.
        prefill_s: Seconds of prefill.
        decode_s: Seconds of decoding.
        longest: Most tokens that prompt and answer had together.
    """

    prefilled: int = 0
    cached: int = 0
    generated: int = 0
    prefill_s: float = 0.0
    decode_s: float = 0.0
    longest: int = 0
    _steps: int = 0  # decode steps; prefill yields the first token of each choice
    _before: tuple[float, ...] = (0, 0, 0, 0)  # what rates() compared last

    def add(self, outcome: Outcome) -> None:
        """Adds an answer."""
        prompt, cached = outcome.prompt_tokens or 0, outcome.cached_tokens or 0
        generated = outcome.completion_tokens or 0
        self.prefilled += prompt - cached
        self.cached += cached
        self.generated += generated
        self.longest = max(self.longest, prompt + generated)
        if outcome.prefill_s is not None and outcome.decode_s is not None:
            self.prefill_s += outcome.prefill_s
            self.decode_s += outcome.decode_s
            self._steps += max(generated - max(len(outcome.finishes), 1), 0)

    def rates(self) -> tuple[float, float]:
        """Returns prompt tokens and generated tokens per second since the last call."""
        now = (self.prefilled, self.prefill_s, self._steps, self.decode_s)
        prefilled, prefill_s, steps, decode_s = (a - b for a, b in zip(now, self._before, strict=True))
        self._before = now
        return prefilled / prefill_s if prefill_s else 0.0, steps / decode_s if decode_s else 0.0


def llama_cpp(now: Stats, sums: Sums) -> Iterator[Metric]:
    """Yields the figures of llama-server under its names, those excepted that the engine does not keep.

    Statistics of the engine lag up to 0.1 s behind its answers, so its counters are at least those of `sums`.
    """
    prefill_rate, decode_rate = sums.rates()
    prefilled, cached = max(now.prompt_tokens, sums.prefilled), max(now.cached_prompt_tokens, sums.cached)
    generated = max(now.completion_tokens, sums.generated)
    for name, help, value in (
        ("prompt_tokens", "Number of prompt tokens processed, excluding cached tokens", prefilled),
        ("prompt_tokens_cached", "Number of prompt tokens reused from the cache", cached),
        ("prompt_seconds", "Time spent processing prompts of finished answers", sums.prefill_s),
        ("tokens_predicted", "Number of generation tokens processed", generated),
        ("tokens_predicted_seconds", "Time spent generating tokens of finished answers", sums.decode_s),
        ("n_decode", "Number of backend steps", now.slices),
    ):
        yield CounterMetricFamily(f"llamacpp:{name}", help, value)
    for name, help, value in (
        ("n_tokens_max", "Largest observed sequence length (prompt + generation)", sums.longest),
        (
            "prompt_tokens_seconds",
            "Prompt throughput in tokens/s since the last scrape",
            prefill_rate,
        ),
        ("predicted_tokens_seconds", "Generation throughput in tokens/s since then", decode_rate),
        ("requests_processing", "Number of requests processing", now.prefilling + now.decoding),
        ("requests_deferred", "Number of requests deferred", now.waiting + now.parked),
    ):
        yield GaugeMetricFamily(f"llamacpp:{name}", help, value)
    counts: dict[str, Any] = now._asdict()
    if "slice_streams" in counts:
        busy = counts["slice_streams"] / max(now.slices, 1)
        yield GaugeMetricFamily("llamacpp:n_busy_slots_per_decode", "Average number of busy slots", busy)
    for name, field, help in (
        ("num_draft_tokens", "draft_tokens", "Total draft tokens generated"),
        ("num_accepted_tokens", "draft_accepted", "Total draft tokens accepted by the target model"),
        ("num_drafts", "draft_steps", "Total verification steps"),
    ):
        if field in counts:
            full = f"llamacpp:spec_decode_{name}"
            yield CounterMetricFamily(full, f"Speculative: {help}", counts[field])


def gateway(now: Stats, memory: Memory, models: list[dict[str, Any]]) -> Iterator[Metric]:
    """Yields what inference gateways of Kubernetes read of model servers, under the names that they expect.

    A slot is the unit in which KV cache is allocated, so the share of slots in use is its utilisation.
    """
    running = now.prefilling + now.decoding
    slots = sum(model["streams"] for model in memory["models"])
    used = min(running / slots, 1.0) if slots else 0.0
    for name, help, value in (
        ("num_requests_waiting", "Requests that wait for a slot.", now.waiting + now.parked),
        ("num_requests_running", "Requests that are being answered.", running),
        ("kv_cache_usage_perc", "KV cache slots in use; 1: all.", used),
        ("gpu_cache_usage_perc", "The same, under the name of earlier versions of the protocol.", used),
    ):
        yield GaugeMetricFamily(f"vllm:{name}", help, value)
    adapters = sorted({str(adapter["name"]) for model in models for adapter in model.get("adapters", [])})
    labels = {
        "max_lora": str(len(adapters)),
        "running_lora_adapters": ",".join(adapters),
        "waiting_lora_adapters": "",
    }
    info = GaugeMetricFamily("vllm:lora_requests_info", "Loaded LoRA adapters.", labels=list(labels))
    info.add_metric(list(labels.values()), time.time())
    yield info


def _labelled(
    kind: Callable[..., Any], name: str, help: str, label: str, values: Mapping[str, float]
) -> Metric:
    made = kind(name, help, labels=[label])
    for value, figure in values.items():
        made.add_metric([value], figure)
    assert isinstance(made, Metric)
    return made
