"""The clients for asyncio: the same methods, arguments and errors, awaitable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _spec, _tokens
from ._aio_connection import AsyncConnection, AsyncTextStream
from ._answers import Requests, embeddings_of, ranking_of, text_of
from ._readiness import Wait
from ._steps import Provisioning
from ._wire import (
    CONTROL_TIMEOUT,
    DATA_TIMEOUT,
    DEFAULT_BASE_URL,
    PATIENCE,
    Call,
    Credential,
    address,
    from_environment,
    project_of,
)
from .data import checked_patience, checked_project
from .enums import OnDrift, member
from .management import view
from .types import EmbedResult, EndpointRef, ReadinessEvent, RerankResult, TextResult, WorkloadSpec


class AsyncManagementClient:
    """`ManagementClient` for asyncio. Tasks of one event loop may share it."""

    def __init__(self, *, base_url: str, sdk_token: str, project: str | None = None) -> None:
        """Sets up the client, as `ManagementClient()` does."""
        self._credential = Credential(sdk_token, _tokens.SDK, "sdk_token")
        self._connection = AsyncConnection(address(base_url))
        self._project = project

    @classmethod
    def from_env(
        cls, *, base_url: str | None = None, project: str | None = None, sdk_token: str | None = None
    ) -> AsyncManagementClient:
        """Returns a client, as `ManagementClient.from_env()` does."""
        return cls(
            base_url=from_environment(base_url, "INFERENCEKEY_BASE_URL", DEFAULT_BASE_URL) or "",
            project=from_environment(project, "INFERENCEKEY_PROJECT"),
            sdk_token=from_environment(sdk_token, "INFERENCEKEY_SDK_TOKEN") or "",
        )

    @property
    def base_url(self) -> str:
        """Address of the control plane, without a slash at its end."""
        return self._connection.base_url

    @property
    def project(self) -> str | None:
        """Project that methods use by default."""
        return self._project

    async def ensure(
        self,
        spec: WorkloadSpec,
        *,
        on_drift: OnDrift | str = OnDrift.RECONCILE,
        project: str | None = None,
    ) -> EndpointRef:
        """Creates the workload of a spec, or compares them, as `ManagementClient.ensure()` does."""
        body = _spec.body_of(spec)
        policy = member(OnDrift, "on_drift", on_drift)
        steps = Provisioning(project_of(project, spec.project, self._project), self._credential)
        return await self._connection.run(steps.ensure(spec, body, policy), self._credential, CONTROL_TIMEOUT)

    async def wait_until_ready(
        self,
        workload_slug: str,
        *,
        project: str | None = None,
        timeout: float = 600.0,
        on_progress: Callable[[ReadinessEvent], None] | None = None,
        silent: bool = False,
    ) -> None:
        """Waits until a workload serves, as `ManagementClient.wait_until_ready()` does."""
        slug = _spec.slug_of(workload_slug)
        steps = Provisioning(project_of(project, self._project), self._credential)
        with view(on_progress, silent) as report:
            wait = Wait(slug, timeout, report)
            await self._connection.wait(steps.readiness(slug), self._credential, wait)

    async def delete(self, workload_slug: str, *, project: str | None = None) -> bool:
        """Deletes a workload, as `ManagementClient.delete()` does."""
        slug = _spec.slug_of(workload_slug)
        steps = Provisioning(project_of(project, self._project), self._credential)
        return await self._connection.run(steps.delete(slug), self._credential, CONTROL_TIMEOUT)

    async def close(self) -> None:
        """Closes all connections. A second call does nothing."""
        await self._connection.close()

    async def __aenter__(self) -> AsyncManagementClient:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_url!r}, {self._credential}, project={self._project!r})"


class AsyncDataClient:
    """`DataClient` for asyncio. Tasks of one event loop may share it."""

    def __init__(
        self, *, base_url: str, project: str, api_key: str | None = None, resume_timeout: float = PATIENCE
    ) -> None:
        """Sets up the client, as `DataClient()` does."""
        self._project = checked_project(project)
        self._connection = AsyncConnection(address(base_url), checked_patience(resume_timeout))
        self._api_key = api_key

    @classmethod
    def from_env(
        cls, *, base_url: str | None = None, project: str | None = None, api_key: str | None = None
    ) -> AsyncDataClient:
        """Returns a client, as `DataClient.from_env()` does."""
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

    def endpoint(self, workload_slug: str, *, api_key: str | None = None) -> AsyncEndpoint:
        """Returns the endpoint of a workload, as `DataClient.endpoint()` does. Sends nothing."""
        credential = Credential(api_key or self._api_key, _tokens.LIVE, "api_key")
        return AsyncEndpoint(self._connection, self._project, _spec.slug_of(workload_slug), credential)

    async def close(self) -> None:
        """Closes all connections, also those of the endpoints. A second call does nothing."""
        await self._connection.close()

    async def __aenter__(self) -> AsyncDataClient:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_url!r}, project={self._project!r})"


class AsyncEndpoint:
    """`Endpoint` for asyncio. `AsyncDataClient.endpoint()` makes it.

    Attributes:
        workload_slug: The workload.
    """

    def __init__(
        self, connection: AsyncConnection, project: str, workload_slug: str, credential: Credential
    ) -> None:
        self._connection = connection
        self._requests = Requests(project, workload_slug, credential)
        self.workload_slug = workload_slug

    async def generate_text(
        self,
        *,
        prompt: str | None = None,
        messages: list[Any] | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> TextResult:
        """Completes a chat, as `Endpoint.generate_text()` does."""
        call = self._requests.chat(prompt, messages, temperature, max_tokens, stream=False)
        return text_of(call, await self._send(call))

    async def generate_text_stream(
        self,
        *,
        prompt: str | None = None,
        messages: list[Any] | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> AsyncTextStream:
        """Completes a chat as a stream, as `Endpoint.generate_text_stream()` does.

        >>> async for chunk in await endpoint.generate_text_stream(prompt="Hello!"):
        ...     print(chunk.text, end="")
        """
        call = self._requests.chat(prompt, messages, temperature, max_tokens, stream=True)
        return await self._connection.stream(call, self._requests.credential, DATA_TIMEOUT)

    async def embed(self, *, input: str | list[str]) -> EmbedResult:
        """Returns one vector per input, as `Endpoint.embed()` does."""
        call = self._requests.embeddings(input)
        return embeddings_of(call, await self._send(call))

    async def rerank(self, *, query: str, documents: list[str], top_n: int | None = None) -> RerankResult:
        """Ranks documents by relevance, as `Endpoint.rerank()` does."""
        call = self._requests.rerank(query, documents, top_n)
        return ranking_of(call, await self._send(call))

    async def _send(self, call: Call) -> dict[str, Any]:
        reply, resumed = await self._connection.complete(call, self._requests.credential, DATA_TIMEOUT)
        return self._requests.json(call, reply, resumed)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.workload_slug!r}, {self._requests.credential})"
