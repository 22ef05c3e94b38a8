"""`ManagementClient`: provisions the workloads of one project."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from . import _spec, _tokens
from ._connection import Connection
from ._progress import Progress
from ._readiness import Wait
from ._steps import Provisioning
from ._wire import CONTROL_TIMEOUT, DEFAULT_BASE_URL, Credential, address, from_environment, project_of
from .enums import OnDrift, member
from .types import EndpointRef, ReadinessEvent, WorkloadSpec

Report = Callable[[ReadinessEvent], None]


def view(on_progress: Report | None, silent: bool) -> AbstractContextManager[Report]:
    """Returns what receives the events of a wait."""
    if on_progress is not None:
        return nullcontext(on_progress)
    return nullcontext(lambda _: None) if silent else Progress()


class ManagementClient:
    """Client of the control plane, with an `ik_sdk_` token of one project. Threads may share it.

    >>> mgmt = ManagementClient.from_env(project="acme")
    >>> ref = mgmt.ensure(WorkloadSpec("Smith", "smith", "sotto/house", Backend.LLAMACPP))
    >>> mgmt.wait_until_ready(ref.workload_slug)
    """

    def __init__(self, *, base_url: str, sdk_token: str, project: str | None = None) -> None:
        """Sets up the client. Sends nothing.

        Args:
            base_url: Address of the control plane: http or https.
            sdk_token: Token of the control plane.
            project: Project that methods use by default.

        Raises:
            ConfigurationError: `sdk_token` is blank, or `base_url` is no address.
        """
        self._credential = Credential(sdk_token, _tokens.SDK, "sdk_token")
        self._connection = Connection(address(base_url))
        self._project = project

    @classmethod
    def from_env(
        cls, *, base_url: str | None = None, project: str | None = None, sdk_token: str | None = None
    ) -> ManagementClient:
        """Returns a client; takes what is not given from the environment.

        Reads INFERENCEKEY_BASE_URL (https://api.inferencekey.com), INFERENCEKEY_PROJECT and
        INFERENCEKEY_SDK_TOKEN. An empty variable counts as absent.

        Raises:
            ConfigurationError: There is no token, or the address is invalid.
        """
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

    def ensure(
        self,
        spec: WorkloadSpec,
        *,
        on_drift: OnDrift | str = OnDrift.RECONCILE,
        project: str | None = None,
    ) -> EndpointRef:
        """Creates the workload of a spec if its slug is new; otherwise compares them.

        Args:
            spec: The declaration; not changed.
            on_drift: What to do if the workload differs from the spec: change it, raise, or leave it.
                `DRY_RUN` never writes, and `plan` of the result says what it would do.
            project: Project; None: the spec's, then the client's, then INFERENCEKEY_PROJECT.

        Returns:
            The slugs by which the workload is addressed.

        Raises:
            ConfigurationError: There is no project, or the spec holds a token.
            ValidationError: An argument is invalid, or the workload drifted with `OnDrift.FAIL`.
            PermissionDenied: The token is not for this.
            AuthError: The token is unknown or revoked.
            ApiError: The control plane fails or cannot be reached.
        """
        body = _spec.body_of(spec)
        policy = member(OnDrift, "on_drift", on_drift)
        steps = Provisioning(project_of(project, spec.project, self._project), self._credential)
        return self._connection.run(steps.ensure(spec, body, policy), self._credential, CONTROL_TIMEOUT)

    def wait_until_ready(
        self,
        workload_slug: str,
        *,
        project: str | None = None,
        timeout: float = 600.0,
        on_progress: Callable[[ReadinessEvent], None] | None = None,
        silent: bool = False,
    ) -> None:
        """Waits until a workload serves; reconnects if the connection breaks off.

        Args:
            workload_slug: The workload.
            project: Project; None: the client's, then INFERENCEKEY_PROJECT.
            timeout: Seconds to wait, which are never exceeded.
            on_progress: Is called with each event; None: events are printed.
            silent: True prints nothing.

        Raises:
            ApiError: The workload failed, or the control plane does.
            ReadinessTimeout: The time is over; also a `TimeoutError`.
            PermissionDenied: The token is not for this.
            AuthError: The token is unknown or revoked.
        """
        slug = _spec.slug_of(workload_slug)
        steps = Provisioning(project_of(project, self._project), self._credential)
        with view(on_progress, silent) as report:
            self._connection.wait(steps.readiness(slug), self._credential, Wait(slug, timeout, report))

    def delete(self, workload_slug: str, *, project: str | None = None) -> bool:
        """Deletes a workload.

        Args:
            workload_slug: The workload; made canonical as in `ensure()`.
            project: Project; None: the client's, then INFERENCEKEY_PROJECT.

        Returns:
            True if the workload existed; False if there was none.

        Raises:
            ConfigurationError: There is no project.
            PermissionDenied: The token is of another project, or may not delete.
            AuthError: The token is unknown or revoked.
            ApiError: The control plane fails or cannot be reached.
        """
        slug = _spec.slug_of(workload_slug)
        steps = Provisioning(project_of(project, self._project), self._credential)
        return self._connection.run(steps.delete(slug), self._credential, CONTROL_TIMEOUT)

    def close(self) -> None:
        """Closes all connections. A second call does nothing."""
        self._connection.close()

    def __enter__(self) -> ManagementClient:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_url!r}, {self._credential}, project={self._project!r})"
