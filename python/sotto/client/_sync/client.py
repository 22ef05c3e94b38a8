"""`LlamaCppClient`."""

from __future__ import annotations

from typing import Any, Literal, overload

from .._wire import Endpoint
from ..types import CompletionResponse
from .api import ChatCompletionsAPI, EmbeddingsClientAPI, LoraClientAPI, ModelsClientAPI, SlotsClientAPI
from .native import NativeCalls
from .server import ServerCalls
from .transport import Stream, Transport


class LlamaCppClient(ServerCalls, NativeCalls):
    """Client of a llama-server, of `sotto serve`, or of another server with OpenAI's API.

    Threads may share it. Its connections end with `close()` or a `with` statement.
    It reads no proxy settings, and follows no redirects.

    >>> with LlamaCppClient("http://127.0.0.1:8080") as client:
    ...     print(client.complete("Once upon a time", n_predict=32).choices[0].text)
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
        self._transport = Transport(Endpoint(base_url, api_key, timeout, verify_ssl))
        self._chat = ChatCompletionsAPI(self._transport)
        self._embeddings = EmbeddingsClientAPI(self._transport)
        self._models = ModelsClientAPI(self._transport)
        self._slots = SlotsClientAPI(self._transport)
        self._lora = LoraClientAPI(self._transport)

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
    def chat(self) -> ChatCompletionsAPI:
        """Chat completions."""
        return self._chat

    @property
    def embeddings(self) -> EmbeddingsClientAPI:
        """Embeddings."""
        return self._embeddings

    @property
    def models(self) -> ModelsClientAPI:
        """Models of the server."""
        return self._models

    @property
    def slots(self) -> SlotsClientAPI:
        """Slots of the server."""
        return self._slots

    @property
    def lora(self) -> LoraClientAPI:
        """LoRA adapters."""
        return self._lora

    @overload
    def chat_completion(
        self, messages: list[dict[str, Any]], *, stream: Literal[True], **kwargs: Any
    ) -> Stream: ...
    @overload
    def chat_completion(
        self, messages: list[dict[str, Any]], *, stream: Literal[False] = False, **kwargs: Any
    ) -> CompletionResponse: ...
    @overload
    def chat_completion(
        self, messages: list[dict[str, Any]], *, stream: bool, **kwargs: Any
    ) -> CompletionResponse | Stream: ...
    def chat_completion(self, messages: list[dict[str, Any]], **kwargs: Any) -> CompletionResponse | Stream:
        """Answers a chat: `client.chat.completions.create()`, whose arguments and errors it shares."""
        answer: CompletionResponse | Stream = self._chat.create(messages, **kwargs)
        return answer

    def close(self) -> None:
        """Closes all connections. A second call does nothing."""
        self._transport.close()

    def __enter__(self) -> LlamaCppClient:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_url!r})"
