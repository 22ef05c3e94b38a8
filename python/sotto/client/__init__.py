"""Client of llama-server and of `sotto serve`: every endpoint, typed, with streams that cancel when closed.

>>> from sotto.client import LlamaCppClient
>>> with LlamaCppClient("http://127.0.0.1:8080") as client:
...     print(client.chat_completion([{"role": "user", "content": "Hello!"}]).choices[0].message.content)
"""

from __future__ import annotations

try:
    import httpx2 as _httpx2  # noqa: F401
except ModuleNotFoundError as error:
    raise ImportError(
        "sotto.client needs httpx2, and Python 3.11 or later: pip install 'sotto-runtime[client]'",
        name=error.name,
    ) from error

from ._alias import alias_llamatelemetry
from ._async.api import (
    AsyncChatCompletionsAPI,
    AsyncEmbeddingsClientAPI,
    AsyncLoraClientAPI,
    AsyncModelsClientAPI,
    AsyncSlotsClientAPI,
)
from ._async.client import AsyncLlamaCppClient
from ._async.transport import AsyncStream
from ._sync.api import (
    ChatCompletionsAPI,
    EmbeddingsClientAPI,
    LoraClientAPI,
    ModelsClientAPI,
    SlotsClientAPI,
)
from ._sync.client import LlamaCppClient
from ._sync.transport import Stream
from .errors import ApiError, ClientError, DeadlineExceeded, TransportError
from .types import (
    Choice,
    CompletionResponse,
    EmbeddingData,
    EmbeddingsResponse,
    HealthStatus,
    LoraAdapter,
    Message,
    ModelInfo,
    RerankResponse,
    RerankResult,
    SlotInfo,
    StopType,
    Timings,
    TokenizeResponse,
    Usage,
)

__all__ = [
    "ApiError",
    "AsyncChatCompletionsAPI",
    "AsyncEmbeddingsClientAPI",
    "AsyncLlamaCppClient",
    "AsyncLoraClientAPI",
    "AsyncModelsClientAPI",
    "AsyncSlotsClientAPI",
    "AsyncStream",
    "ChatCompletionsAPI",
    "Choice",
    "ClientError",
    "CompletionResponse",
    "DeadlineExceeded",
    "EmbeddingData",
    "EmbeddingsClientAPI",
    "EmbeddingsResponse",
    "HealthStatus",
    "LlamaCppClient",
    "LoraAdapter",
    "LoraClientAPI",
    "Message",
    "ModelInfo",
    "ModelsClientAPI",
    "RerankResponse",
    "RerankResult",
    "SlotInfo",
    "SlotsClientAPI",
    "StopType",
    "Stream",
    "Timings",
    "TokenizeResponse",
    "TransportError",
    "Usage",
    "alias_llamatelemetry",
]
