"""Memory use of an engine, and the memory needs of a model. All sizes are in bytes."""

from __future__ import annotations

from typing import TypedDict


class Use(TypedDict):
    """Memory in use for one purpose."""

    used: int  # current bytes
    peak: int  # highest value of `used` so far


class ModelMemory(TypedDict):
    """Memory in use by one model."""

    id: str
    state: str  # "ready", "loading", "evicted" (its next request reloads it) or "leaving" (being unloaded)
    streams: int  # current slots: answers that can run at once
    max_streams: int  # slots if the budget has room
    host: int  # main memory used by a model on a device; not charged to the budget
    weights: int
    kv: int  # KV caches of the streams
    compute: int
    adapter: int
    image: int
    spilled_kv: int  # spilled KV caches of parked streams


class Parked(TypedDict):
    """Spilled KV caches of parked streams, whose slots other streams use."""

    count: int  # number of spilled KV caches
    memory: int  # bytes in memory
    disk: int  # bytes in files


class Video(TypedDict):
    """Memory of a graphics card, as reported by the Vulkan driver."""

    total: int
    available: int  # bytes that this process can still allocate
    process: int  # bytes in use by this process, including its graphics


class System(TypedDict):
    """Main memory, as reported by the operating system."""

    total: int  # of the machine, or of the container if its limit is lower
    available: int  # bytes that programs can still allocate
    process: int  # private memory of this process, not backed by files
    mapped: int  # resident part of the files that this process has mapped
    device: Video | None  # None: models run on the CPU, or the driver does not report it


class CardMemory(TypedDict):
    """A graphics card, as reported by the NVIDIA driver."""

    name: str
    uuid: str
    total: int
    available: int  # bytes not in use by any process


class AdapterMemory(TypedDict):
    """A graphics card, as reported by Windows."""

    name: str
    luid: int
    total: int
    budget: int  # bytes of it that this process may use now
    used: int  # bytes in use by this process


class Memory(TypedDict):
    """Memory use by purpose and by model, from `Engine.memory()`. Ignore unknown fields."""

    budget: int  # 0: no limit
    used: int
    peak: int
    over: int  # bytes in use above the budget, after the budget was lowered
    uses: dict[str, Use]  # "weights", "kv", "compute", "adapter", "image", "spilled_kv"
    models: list[ModelMemory]
    parked: Parked
    system: System | None  # None: the operating system does not report it
    cards: list[CardMemory]
    adapters: list[AdapterMemory]  # empty outside Windows


class Rung(TypedDict):
    """One step of the plan: a configuration in which the model could be loaded."""

    rung: str  # "as asked", "small kv", "fewer layers", "fewer streams", "shorter streams" or "unload idle"
    streams: int
    context: int
    weights: int
    kv: int
    compute: int
    bytes: int  # sum of weights, kv and compute
    host: int  # main memory, if the sum is device memory
    layers: int  # number of layers on the device
    fits: bool


class Plan(TypedDict):
    """Steps that make a model fit into the budget, from `Engine.plan_model()`."""

    model: str
    budget: int | None  # None or 0: no limit
    used: int | None  # part of the budget that other models use
    free: int | None  # None: no limit
    kv_per_token: int  # KV cache of one token, in each stream
    rungs: list[Rung]  # steps tried, in this order
    fits: bool
    rung: str | None  # the first step that fits; None: no step fits
    reason: str  # reason if no step fits


def read_memory(told: str) -> Memory:
    """Parses the JSON of `sotto_engine_memory()`."""
    import json

    found: Memory = json.loads(told)
    return found


def read_plan(told: str) -> Plan:
    """Parses the JSON of a plan request."""
    import json

    found: Plan = json.loads(told)
    return found
