"""Clients of a fleet: provision workloads, call them, delete them. Takes the place of `inferencekey`.

>>> import sotto.fleet as inferencekey
>>> mgmt = inferencekey.ManagementClient.from_env(project="acme")
"""

from __future__ import annotations

try:
    import httpx2 as _httpx2  # noqa: F401
except ModuleNotFoundError as error:
    raise ImportError(
        "sotto.fleet needs httpx2, and Python 3.11 or later: pip install 'sotto-runtime[fleet]'",
        name=error.name,
    ) from error

from .aio import AsyncDataClient, AsyncEndpoint, AsyncManagementClient
from .data import DataClient, Endpoint
from .enums import Backend, ExecutionPolicy, OnDrift, TaskType
from .errors import (
    ApiError,
    AuthError,
    ConfigurationError,
    InferenceKeyError,
    PermissionDenied,
    ReadinessTimeout,
    ValidationError,
)
from .management import ManagementClient
from .types import (
    EmbedResult,
    EndpointRef,
    Plan,
    ReadinessEvent,
    RerankItem,
    RerankResult,
    TextChunk,
    TextResult,
    WorkloadSpec,
)
from .webhooks import verify_webhook

__all__ = [
    "ApiError",
    "AsyncDataClient",
    "AsyncEndpoint",
    "AsyncManagementClient",
    "AuthError",
    "Backend",
    "ConfigurationError",
    "DataClient",
    "EmbedResult",
    "Endpoint",
    "EndpointRef",
    "ExecutionPolicy",
    "InferenceKeyError",
    "ManagementClient",
    "OnDrift",
    "PermissionDenied",
    "Plan",
    "ReadinessEvent",
    "ReadinessTimeout",
    "RerankItem",
    "RerankResult",
    "TaskType",
    "TextChunk",
    "TextResult",
    "ValidationError",
    "WorkloadSpec",
    "verify_webhook",
]
