"""`Cluster`: the calls to Ray and Ray Serve. Each may wait, so none runs on an event loop."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import ArgumentError, ModelLoadError
from ..control.instance import free_port
from ..control.launch import CannotLaunch
from ..control.placement import Deployment
from ..control.planning import PLAN_TIMEOUT, plan_command, planned_mb
from . import settings
from .fingerprint import fingerprint
from .needs import Planned, RayNode

DEPLOYMENT = "replica"  # of each application
_HEALTH_PERIOD = 2.0  # seconds between two checks of a replica
_RETRIES = 3  # starts of a replica before its version counts as failed
_MB = 1 << 20


class Application(NamedTuple):
    """An application of Ray Serve.

    Attributes:
        status: As Ray Serve names it: DEPLOYING, RUNNING, DEPLOY_FAILED, UNHEALTHY or DELETING.
        message: Why it is in this state.
        wanted: Replicas that are to run.
        running: Replicas that answer: Ray's id of their node, and process id.
        options: Options of a replica's actor.
    """

    status: str
    message: str
    wanted: int
    running: frozenset[tuple[str, int]]
    options: Mapping[str, Any]


class Cluster:
    """A connection to a Ray cluster. One of a process.

    Args:
        address: `HOST:PORT` of the head.
        token_file: File of the cluster's token.
        drain: Seconds for which running answers may go on when a replica is stopped.
    """

    def __init__(self, address: str, token_file: Path, drain: float) -> None:
        self._address, self._token_file, self._drain = address, token_file, drain
        self._port = 0

    def connect(self) -> None:
        """Connects, and starts Ray Serve if it does not run.

        Raises:
            ArgumentError: No cluster answers at the address, the token is another one, or Ray is missing.
        """
        os.environ.update(settings.variables(self._token_file))  # Ray reads them when it is imported
        settings.check_installed()
        settings.check_reachable(self._address)
        import ray

        try:
            ray.init(
                self._address,
                namespace="sotto",
                log_to_driver=False,
                configure_logging=False,
                ignore_reinit_error=True,
            )
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise ArgumentError(
                f"cannot connect to the Ray cluster at {self._address}: {str(error).splitlines()[0]}; this "
                "machine has to be one of its nodes, with the same token"
            ) from None
        self.start_serve()

    def start_serve(self) -> None:
        """Starts Ray Serve if it does not run. Its proxy answers this machine alone."""
        from ray import serve
        from ray.serve.context import _get_global_client

        if _get_global_client(raise_if_no_controller_running=False) is None:
            options = {"host": "127.0.0.1", "port": free_port()}
            serve.start(proxy_location="HeadOnly", http_options=options)
        self._port = int(self._details()["http_options"]["port"])

    def address(self, name: str) -> str:
        """Returns where this machine finds an application."""
        return f"http://127.0.0.1:{self._port}/{name}"

    def disconnect(self) -> None:
        """Ends the connection. Applications go on."""
        import ray

        ray.shutdown()

    def applications(self) -> dict[str, Application]:
        """Returns the applications of the cluster, by name."""
        return {name: _application(one) for name, one in self._details()["applications"].items()}

    def nodes(self) -> list[RayNode]:
        """Returns the nodes that answer and have a name, ordered by name."""
        import ray
        from ray._private.state import available_resources_per_node  # no public call returns it by node

        free = available_resources_per_node()
        found = []
        for node in ray.nodes():
            labels = node["Labels"]
            if not node["Alive"] or settings.NODE not in labels or node["NodeID"] not in free:
                continue
            has, left = node["Resources"], free[node["NodeID"]]
            found.append(
                RayNode(
                    ray_id=node["NodeID"],
                    name=labels[settings.NODE],
                    version=labels.get(settings.VERSION, ""),
                    host=node["NodeManagerAddress"],
                    cores=has.get("CPU", 0.0),
                    memory=int(has.get("memory", 0)),
                    free_cores=left.get("CPU", 0.0),
                    free_memory=int(left.get("memory", 0)),
                    gpu=labels.get(settings.GPU),
                    gpu_mb=int(labels.get(settings.GPU_MB, 0)),
                    free_gpu=left.get("GPU", 0.0),
                )
            )
        return sorted(found, key=lambda node: node.name)

    def plan(self, deployment: Deployment, nodes: list[RayNode]) -> dict[str, Planned | str]:
        """Plans a workload on each node. Returns the plans, or why a node cannot run it, by its name."""
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as Affinity

        asked = {}
        for node in nodes:
            gpu = deployment.gpu_resource_id is not None
            task = ray.remote(_plan).options(
                num_cpus=0,
                num_gpus=0.01 if gpu else 0,
                max_retries=0,
                scheduling_strategy=Affinity(node.ray_id, soft=False),
            )
            free_mb = node.gpu_mb if gpu else max(node.free_memory // _MB, 1)
            asked[node.name] = task.remote(deployment, free_mb)
        ray.wait(list(asked.values()), num_returns=len(asked), timeout=PLAN_TIMEOUT)
        plans: dict[str, Planned | str] = {}
        for name, reference in asked.items():
            try:
                plans[name] = ray.get(reference, timeout=0)
            except ray.exceptions.GetTimeoutError:
                plans[name] = f"`sotto plan` did not end within {PLAN_TIMEOUT:g} s"
                ray.cancel(reference, force=True)
            except ray.exceptions.RayError as error:
                plans[name] = f"cannot plan: {str(error).strip().splitlines()[-1][:300]}"
        return plans

    def deploy(self, name: str, deployment: Deployment, actor: Mapping[str, Any]) -> None:
        """Starts an application, or changes its number of replicas; does not wait for them."""
        from ray import serve

        from .replica import MAX_REQUESTS, Replica

        config = deployment.config
        budget = config.get("budget_mb") or int(actor.get("memory", 0)) // _MB
        engine = {
            "mode": config.get("mode", "prioritize_compute"),
            "threads": config.get("threads", max(1, int(actor["num_cpus"]))),
            "vram_budget_mb": budget,
            "deterministic": bool(config.get("deterministic", False)),
        }
        made = serve.deployment(serve.ingress()(Replica)).options(
            name=DEPLOYMENT,
            version=name,  # with another one, a change of `num_replicas` would replace all replicas
            num_replicas=deployment.replicas,
            ray_actor_options=dict(actor),
            max_ongoing_requests=MAX_REQUESTS,
            max_constructor_retry_count=_RETRIES,
            health_check_period_s=_HEALTH_PERIOD,
            graceful_shutdown_timeout_s=self._drain,
            graceful_shutdown_wait_loop_s=0.2,
            _internal=True,
        )
        bound = made.bind(deployment, engine, self._drain)
        serve.run_many(
            [serve.RunTarget(bound, name=name, route_prefix=f"/{name}")],
            wait_for_ingress_deployment_creation=False,
            wait_for_applications_running=False,
        )

    def delete(self, name: str) -> None:
        """Begins to stop an application: no new requests; running answers may end."""
        from ray import serve

        serve.delete(name, _blocking=False)

    def _details(self) -> dict[str, Any]:
        from ray.serve.context import _get_global_client

        client = _get_global_client()
        assert client is not None
        found: dict[str, Any] = client.get_serve_details()
        return found


def _application(details: Mapping[str, Any]) -> Application:
    deployment = details["deployments"].get(DEPLOYMENT, {})
    replicas = deployment.get("replicas", ())
    return Application(
        status=str(getattr(details["status"], "value", details["status"])),
        message=deployment.get("message") or details["message"],
        wanted=deployment.get("target_num_replicas", 0),
        running=frozenset((one["node_id"], one["pid"]) for one in replicas if one["state"] == "RUNNING"),
        options=_actor_options(deployment.get("deployment_config", {}).get("ray_actor_options", {})),
    )


def _actor_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options as they were given; with others, Ray Serve would replace all replicas."""
    options = {name: given[name] for name in ("num_cpus", "label_selector", "num_gpus") if given.get(name)}
    return options | ({"memory": int(given["memory"])} if given.get("memory") else {})


def _plan(deployment: Deployment, free_mb: int) -> Planned | str:
    """Runs on a node: plans a workload there."""
    command = plan_command(deployment, free_mb)
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PLAN_TIMEOUT
        )
        memory_mb = planned_mb(done.returncode, done.stdout, done.stderr)
        return Planned(memory_mb, fingerprint(deployment.model))
    except (CannotLaunch, ModelLoadError, OSError) as error:
        return str(error)
    except subprocess.TimeoutExpired:
        return f"`sotto plan` did not end within {PLAN_TIMEOUT:g} s"
