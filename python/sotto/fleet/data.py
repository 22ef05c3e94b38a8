"""`DataClient` and `Endpoint`: call the workloads of one project."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from . import _spec, _tokens
from ._answers import Requests, embeddings_of, ranking_of, text_of
from ._connection import Connection
from ._wire import DATA_TIMEOUT, DEFAULT_BASE_URL, PATIENCE, Call, Credential, address, from_environment
from .errors import ConfigurationError
from .types import EmbedResult, RerankResult, TextChunk, TextResult


def checked_project(project: str | None) -> str:
    """Returns a project. Raises `ConfigurationError` if it is blank or cannot be part of an address."""
    text = project.strip() if isinstance(project, str) else ""
    if text in ("", ".", ".."):
        raise ConfigurationError(
            f"invalid project '{project}': expected a slug; pass project= or set INFERENCEKEY_PROJECT"
        )
    return text


def checked_patience(resume_timeout: float) -> float:
    """Returns a duration in seconds. Raises `ConfigurationError` if it is none."""
    number = isinstance(resume_timeout, int | float) and not isinstance(resume_timeout, bool)
    if not number or not 0 <= resume_timeout < math.inf:
        raise ConfigurationError(
            f"invalid resume_timeout '{resume_timeout!r}': expected seconds, from 0; 0 resumes no answer"
        )
    return float(resume_timeout)


class DataClient:
    """Client of the data plane for one project. Threads may share it.

    An answer whose connection or replica is lost is taken up by another replica, once, within
    `resume_timeout` seconds: a stream goes on after the text that has come, another request is sent again.
    The results' `raw` then has the member `resumed`: true.

    >>> data = DataClient.from_env(project="acme")
    >>> print(data.endpoint("smith", api_key="ik_live_...").generate_text(prompt="Hello!").text)
    """

    def __init__(
        self, *, base_url: str, project: str, api_key: str | None = None, resume_timeout: float = PATIENCE
    ) -> None:
        """Sets up the client. Sends nothing.

        Args:
            base_url: Address of the data plane: http or https.
            project: The project.
            api_key: `ik_live_` key of endpoints that are made without one.
            resume_timeout: Seconds in which another replica has to take up a lost answer; 0: none does.

        Raises:
            ConfigurationError: `project` is blank, `base_url` is no address, or `resume_timeout` no duration.
        """
        self._project = checked_project(project)
        self._connection = Connection(address(base_url), checked_patience(resume_timeout))
        self._api_key = api_key

    @classmethod
    def from_env(
        cls, *, base_url: str | None = None, project: str | None = None, api_key: str | None = None
    ) -> DataClient:
        """Returns a client; takes what is not given from the environment.

        Reads INFERENCEKEY_BASE_URL (https://api.inferencekey.com), INFERENCEKEY_PROJECT and
        INFERENCEKEY_API_KEY. An empty variable counts as absent.

        Raises:
            ConfigurationError: There is no project, or the address is invalid.
        """
        return cls(
            base_url=from_environment(base_url, "INFERENCEKEY_BASE_URL", DEFAULT_BASE_URL) or "",
            project=from_environment(project, "INFERENCEKEY_PROJECT") or "",
            api_key=from_environment(api_key, "INFERENCEKEY_API_KEY"),
        )

    @property
    def base_url(self) -> str:
        """Address of the data plane, without a slash at its end."""
        return self._connection.base_url

    @property
    def project(self) -> str:
        """The project."""
        return self._project

    def endpoint(self, workload_slug: str, *, api_key: str | None = None) -> Endpoint:
        """Returns the endpoint of a workload. Sends nothing.

        Args:
            workload_slug: The workload.
            api_key: Its `ik_live_` key; None: the client's.

        Raises:
            ConfigurationError: There is no key.
            ValidationError: The slug holds no letter a-z and no digit.
        """
        credential = Credential(api_key or self._api_key, _tokens.LIVE, "api_key")
        return Endpoint(self._connection, self._project, _spec.slug_of(workload_slug), credential)

    def close(self) -> None:
        """Closes all connections, also those of the endpoints. A second call does nothing."""
        self._connection.close()

    def __enter__(self) -> DataClient:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_url!r}, project={self._project!r})"


class Endpoint:
    """An OpenAI-compatible endpoint with one key. `DataClient.endpoint()` makes it.

    Attributes:
        workload_slug: The workload.
    """

    def __init__(
        self, connection: Connection, project: str, workload_slug: str, credential: Credential
    ) -> None:
        self._connection = connection
        self._requests = Requests(project, workload_slug, credential)
        self.workload_slug = workload_slug

    def generate_text(
        self,
        *,
        prompt: str | None = None,
        messages: list[Any] | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> TextResult:
        """Completes a chat. Arguments that are None are not sent.

        Args:
            prompt: One message of the user; excludes `messages`.
            messages: Messages with `role` and `content`, as in OpenAI's API.
            temperature: Sampling temperature.
            max_tokens: Limit of the answer in tokens.

        Raises:
            ValidationError: An argument is invalid.
            PermissionDenied: The key is not for this workload.
            AuthError: The key is unknown or revoked.
            ApiError: The workload fails or cannot be reached, or its response is invalid.
        """
        call = self._requests.chat(prompt, messages, temperature, max_tokens, stream=False)
        return text_of(call, self._send(call))

    def generate_text_stream(
        self,
        *,
        prompt: str | None = None,
        messages: list[Any] | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> Iterator[TextChunk]:
        """Completes a chat as a stream: one chunk per event, read when the iterator is advanced.

        The request is sent at once, so that errors of arguments and keys are raised by this call.
        Arguments and errors are those of `generate_text()`; a stream that ends early, and cannot go on at
        another replica, raises `ApiError`.
        """
        call = self._requests.chat(prompt, messages, temperature, max_tokens, stream=True)
        return self._connection.stream(call, self._requests.credential, DATA_TIMEOUT)

    def embed(self, *, input: str | list[str]) -> EmbedResult:
        """Returns one vector per input. A string counts as a list of one.

        Raises as `generate_text()` does; an empty list raises `ValidationError`.
        """
        call = self._requests.embeddings(input)
        return embeddings_of(call, self._send(call))

    def rerank(self, *, query: str, documents: list[str], top_n: int | None = None) -> RerankResult:
        """Ranks documents by relevance to a query, best first. Raises as `generate_text()` does.

        Args:
            query: What is searched for.
            documents: The texts.
            top_n: Number of results; None: all.
        """
        call = self._requests.rerank(query, documents, top_n)
        return ranking_of(call, self._send(call))

    def _send(self, call: Call) -> dict[str, Any]:
        reply, resumed = self._connection.complete(call, self._requests.credential, DATA_TIMEOUT)
        return self._requests.json(call, reply, resumed)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.workload_slug!r}, {self._requests.credential})"
