"""What the fleet's clients take and return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from .enums import Backend, ExecutionPolicy, TaskType


@dataclass
class WorkloadSpec:
    """The declaration of a workload, for `ensure()`. Where it runs is the platform's decision.

    Attributes:
        name: Display name.
        slug: Identifier, and the key by which `ensure()` is idempotent; made canonical when it is used.
        model: Model: a Hugging Face id, a GGUF file on the node, or `sotto/house`.
        backend: Inference engine; `llamacpp` is Sotto's own.
        project: Project; None: the client's.
        description: Free text.
        command: Launch command of vLLM, SGLang, Ollama or llama-server. It is never passed to a shell.
        vllm_version: Version of vLLM, for the backends `vllm` and `vllm-omni`.
        task_type: Modality; None: `text2text`.
        config: Settings of the backend.
        execution_policy: How replicas are scheduled; None: `fixed`, one replica.
        execution_policy_config: Settings of the policy.
        worker_id: Node to run on; None: any.
        gpu_resource_id: GPU to run on; None: any.
    """

    name: str
    slug: str
    model: str
    backend: Backend | str
    project: str | None = None
    description: str | None = None
    command: str | None = None
    vllm_version: str | None = None
    task_type: TaskType | str | None = None
    config: dict[str, Any] | None = None
    execution_policy: ExecutionPolicy | str | None = None
    execution_policy_config: dict[str, Any] | None = None
    worker_id: str | None = None
    gpu_resource_id: str | None = None

    def to_wire(self) -> dict[str, Any]:
        """Returns the fields that are set, as JSON values under their own names."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {
            name: str(value) if isinstance(value, str) else value
            for name, value in values.items()
            if value is not None
        }


@dataclass(frozen=True)
class Plan:
    """What `ensure()` would do, or has done.

    Attributes:
        action: "create", "update" or "none".
        changes: Fields that differ: the workload's value and the spec's, by name.
    """

    action: str
    changes: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class EndpointRef:
    """The slugs that address a workload, as `ensure()` returns them."""

    project_slug: str
    workload_slug: str

    @property
    def plan(self) -> Plan:
        """What `ensure()` did; with `OnDrift.DRY_RUN`, what it would do."""
        found: Plan = self.__dict__.get("_plan") or Plan("none")
        return found

    def planned(self, plan: Plan) -> EndpointRef:
        """Returns the same reference with a plan, which equality and `repr()` ignore."""
        made = EndpointRef(self.project_slug, self.workload_slug)
        made.__dict__["_plan"] = plan
        return made


@dataclass(frozen=True)
class TextResult:
    """A completion. `raw`: the response; with `resumed`: true if another replica completed the answer."""

    text: str
    model: str
    finish_reason: str | None = None
    raw: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TextChunk:
    """A part of a completion; `finish_reason` is set on the last one. `raw`: the event.

    In the chunks of a replica that took up a lost answer, `raw` has `resumed`: true, and its `usage` and
    `timings` count the tokens of the whole answer.
    """

    text: str
    finish_reason: str | None = None
    raw: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ReadinessEvent:
    """Progress of a workload that comes up.

    Attributes:
        phase: "scheduling", "provisioning", "bootstrapping", "ready" or "error"; the last two end the wait.
        message: Short text without control characters.
        elapsed_ms: Milliseconds since the wait started; never decreases.
        step: Step of the start-up, such as "model_load"; None outside of one.
    """

    phase: str
    message: str
    elapsed_ms: int = 0
    step: str | None = None


@dataclass(frozen=True)
class EmbedResult:
    """Embeddings: one vector per input, in the order of the inputs. `raw`: the response, unchanged."""

    embeddings: list[list[float]]
    model: str
    raw: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RerankItem:
    """The relevance of one document: its index in the request, and its score."""

    index: int
    relevance_score: float


@dataclass(frozen=True)
class RerankResult:
    """Documents by relevance, best first. `model` is empty if the server omits it."""

    results: list[RerankItem]
    model: str
    raw: dict[str, Any] = field(default_factory=dict)
