"""`LlamaCppClient`."""

# Written from `_sync/client.py` by tests/python/client_twin.py; do not edit.

from __future__ import annotations

from typing import Any, Literal, overload

from .._wire import Endpoint
from ..types import CompletionResponse
from .api import (
    AsyncChatCompletionsAPI,
    AsyncEmbeddingsClientAPI,
    AsyncLoraClientAPI,
    AsyncModelsClientAPI,
    AsyncSlotsClientAPI,
)
from .native import AsyncNativeCalls
from .server import AsyncServerCalls
from .transport import AsyncStream, AsyncTransport


class AsyncLlamaCppClient(AsyncServerCalls, AsyncNativeCalls):
    """Client of a llama-server, of `sotto serve`, or of another server with OpenAI's API.

    Tasks of one event loop may share it. Its connections end with `close()` or an `async with` statement.
    It reads no proxy settings, and follows no redirects.

    >>> async with AsyncLlamaCppClient("http://127.0.0.1:8080") as client:
    ...     print((await client.complete("Once upon a time", n_predict=32)).choices[0].text)
    """

    def __init__(
        self,
        base_url: str = "http://127.0.0.1:8080",
        api_key: str | None = None,
        timeout: float = 600.0,
        verify_ssl: bool = True,
    ) -> None:
        """Sets up the client. Connects when the first request is sent.

        Args:
            base_url: Address of the server: http or https.
            api_key: Key, sent as a bearer token; None: no key.
            timeout: Limit for a whole request in seconds, from the connection to the last byte.
            verify_ssl: False accepts any certificate.

        Raises:
            ArgumentError: A value is invalid.
        """
        self._transport = AsyncTransport(Endpoint(base_url, api_key, timeout, verify_ssl))
        self._chat = AsyncChatCompletionsAPI(self._transport)
        self._embeddings = AsyncEmbeddingsClientAPI(self._transport)
        self._models = AsyncModelsClientAPI(self._transport)
        self._slots = AsyncSlotsClientAPI(self._transport)
        self._lora = AsyncLoraClientAPI(self._transport)

    @property
    def base_url(self) -> str:
        """Address of the server, without a slash at its end."""
        return self._transport.endpoint.base_url

    @property
    def timeout(self) -> float:
        """Limit for a whole request in seconds."""
        return self._transport.endpoint.timeout

    @property
    def verify_ssl(self) -> bool:
        """False if any certificate is accepted."""
        return self._transport.endpoint.verify_ssl

    @property
    def chat(self) -> AsyncChatCompletionsAPI:
        """Chat completions."""
        return self._chat

    @property
    def embeddings(self) -> AsyncEmbeddingsClientAPI:
        """Embeddings."""
        return self._embeddings

    @property
    def models(self) -> AsyncModelsClientAPI:
        """Models of the server."""
        return self._models

    @property
    def slots(self) -> AsyncSlotsClientAPI:
        """Slots of the server."""
        return self._slots

    @property
    def lora(self) -> AsyncLoraClientAPI:
        """LoRA adapters."""
        return self._lora

    @overload
    async def chat_completion(
        self, messages: list[dict[str, Any]], *, stream: Literal[True], **kwargs: Any
    ) -> AsyncStream: ...
    @overload
    async def chat_completion(
        self, messages: list[dict[str, Any]], *, stream: Literal[False] = False, **kwargs: Any
    ) -> CompletionResponse: ...
    @overload
    async def chat_completion(
        self, messages: list[dict[str, Any]], *, stream: bool, **kwargs: Any
    ) -> CompletionResponse | AsyncStream: ...
    async def chat_completion(
        self, messages: list[dict[str, Any]], **kwargs: Any
    ) -> CompletionResponse | AsyncStream:
        """Answers a chat: `client.chat.completions.create()`, whose arguments and errors it shares."""
        answer: CompletionResponse | AsyncStream = await self._chat.create(messages, **kwargs)
        return answer

    async def close(self) -> None:
        """Closes all connections. A second call does nothing."""
        await self._transport.close()

    async def __aenter__(self) -> AsyncLlamaCppClient:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_url!r})"
