"""What an engine takes of the machine's memory, and what a model would take. All of it is in bytes."""

from __future__ import annotations

from typing import TypedDict


class Use(TypedDict):
    """What one use takes."""

    used: int  # now
    peak: int  # at most, so far


class ModelMemory(TypedDict):
    """What one model takes."""

    id: str
    state: str  # "ready", "loading", "evicted" (it gave way to others; a request wakes it) or "leaving"
    streams: int  # answers that may be under way at once, now
    max_streams: int  # and where there is room
    host: int  # of the machine's memory, where the model is on a device; it does not count
    weights: int
    kv: int  # what streams remember
    compute: int
    adapter: int
    image: int
    staging: int  # what is parked


class Parked(TypedDict):
    """What those remember who gave up their place to others."""

    count: int  # how many
    memory: int  # bytes in memory
    disk: int  # bytes in files


class Video(TypedDict):
    """What Vulkan's driver says of a graphics card's memory."""

    total: int
    available: int  # what this process could still take
    process: int  # what this process has, its graphics too


class System(TypedDict):
    """What the system itself says."""

    total: int  # of the machine, or of the container if that has less
    available: int  # what programs could still take
    process: int  # this one's own, which is in no file
    mapped: int  # of the files that this one has mapped, what is in memory
    device: Video | None  # None: models are on the processor, or the driver does not say


class CardMemory(TypedDict):
    """What NVIDIA's driver says of a graphics card."""

    name: str
    uuid: str
    total: int
    available: int  # what nobody has, in any process


class AdapterMemory(TypedDict):
    """What Windows says of a graphics card."""

    name: str
    luid: int
    total: int
    budget: int  # what this process may use of it now
    used: int  # by this process


class Memory(TypedDict):
    """Who has how much: what `Engine.memory()` tells. It may hold more by now; skip what you do not know."""

    budget: int  # 0: none
    used: int
    peak: int
    over: int  # so much more than the budget is in use, since that was lowered
    uses: dict[str, Use]  # "weights", "kv", "compute", "adapter", "image", "spilled_kv"
    models: list[ModelMemory]
    parked: Parked
    system: System | None  # None: it does not say
    cards: list[CardMemory]
    adapters: list[AdapterMemory]  # none outside Windows


class Rung(TypedDict):
    """One way to load a model."""

    rung: str  # "as asked", "small kv", "fewer layers", "fewer streams", "shorter streams" or "unload idle"
    streams: int
    context: int
    weights: int
    kv: int
    compute: int
    bytes: int  # the sum
    host: int  # of the machine's memory, where those are a device's
    layers: int  # on the device
    fits: bool


class Plan(TypedDict):
    """How a model would fit: what `Engine.plan_model()` tells."""

    model: str
    budget: int | None  # None or 0: no limit
    used: int | None  # of it, by others
    free: int | None  # None: no limit
    kv_per_token: int  # bytes, of each stream
    rungs: list[Rung]  # what was tried, in this order
    fits: bool
    rung: str | None  # the first that fits
    why: str  # in words, where none does


def read_memory(told: str) -> Memory:
    """Reads what an engine tells."""
    import json

    found: Memory = json.loads(told)
    return found


def read_plan(told: str) -> Plan:
    """Reads what was planned."""
    import json

    found: Plan = json.loads(told)
    return found
