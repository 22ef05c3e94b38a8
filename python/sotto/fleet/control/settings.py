"""`ControlSettings`: limits of a control plane."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..prices import NodePrices


@dataclass(frozen=True)
class ControlSettings:
    """Limits of a control plane.

    Attributes:
        max_spec_bytes: Longest body of a request to the control plane; longer ones get status 413.
        max_body_bytes: Longest body of a request to a workload.
        max_workloads: Workloads that a project may have; further ones get status 429.
        max_requests: Requests to workloads that may run at once; further ones get status 429.
        body_timeout: Seconds in which the body of a request has to arrive.
        timeout: Seconds that an answer of a workload may take.
        resume_timeout: Seconds in which another replica has to take up an answer that was lost; 0: none does.
        write_timeout: Seconds for which a client may leave a full socket unread; then it is cut off.
        ping: Seconds without an event after which a stream of readiness sends a comment.
        delete_wait: Seconds for which a deletion waits until the workload has stopped.
        quota_lease: Part of a quota that a gateway takes from the store at a time.
        default_max_tokens: `max_tokens` of requests that set none, for keys with a quota of tokens.
        prices: Prices of the nodes.
    """

    max_spec_bytes: int = 1 << 20
    max_body_bytes: int = 64 << 20
    max_workloads: int = 1000
    max_requests: int = 2048
    body_timeout: float = 30.0
    timeout: float = 600.0
    resume_timeout: float = 30.0
    write_timeout: float = 30.0
    ping: float = 15.0
    delete_wait: float = 30.0
    quota_lease: float = 0.1
    default_max_tokens: int = 1024
    prices: NodePrices = field(default_factory=NodePrices)

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if name == "prices" or (name == "resume_timeout" and number and value == 0):
                continue
            if not number or not 0 < value < 2**53:
                raise ValueError(f"invalid {name} '{value!r}': expected a positive number")
        if self.quota_lease > 1:
            raise ValueError(f"invalid quota_lease '{self.quota_lease}': expected a part, at most 1")
