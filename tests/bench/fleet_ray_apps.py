"""A Ray cluster of its own with the server's application behind Ray Serve's Python proxy, until stdin ends.

`python fleet_ray_apps.py JSON`: `name` and `path` of the model, `options` to load it with, `engine`
(arguments of `aio.Engine`), `replicas`, `folder` (for Ray's files). Prints one line of JSON: the port, and
the process ids of the proxy (`router`) and of the replicas. Ray's default router chooses the replica.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from typing import Any

import ray
from cpu_time import command_of, tree
from llama_server import free_port
from ray import serve
from starlette.applications import Starlette

from sotto import aio
from sotto.server import application
from sotto.server.service import Service
from sotto.server.serving import Model, load_model
from sotto.server.settings import Settings

WITHIN = 300  # seconds


class Replica:
    """The server's application with the engine inside, as `sotto.fleet.cluster` deploys it."""

    async def __init__(self, order: dict[str, Any]) -> None:  # type: ignore[misc]  # Ray Serve awaits it
        engine = aio.Engine(mode="prioritize_compute", **order["engine"])
        self._service = Service(engine, Settings(hosts=("*",)))
        await load_model(engine, Model(order["name"], order["path"], order["options"]))

    def __serve_build_asgi_app__(self) -> Starlette:
        """Returns the application."""
        return application.make(self._service, application.ROUTES)


def found(kind: str, count: int) -> list[int]:
    """Returns the actors of a class in this cluster, by their process titles, once there are `count`."""
    title = re.compile(rf"ray::(.*:)?{kind}\b")  # ray::NAME:CLASS.METHOD; actors without a name, ray::CLASS
    end = time.monotonic() + WITHIN
    while True:
        titles = {pid: command_of(pid) for pid in tree(os.getpid())}
        pids = [pid for pid, words in titles.items() if title.match(words)]
        if len(pids) == count:
            return pids
        if time.monotonic() > end:
            sys.exit(f"Ray runs {len(pids)} actors {kind}, expected {count}, of {sorted(titles.values())}")
        time.sleep(0.1)


def main() -> None:
    """Starts, says where, and ends."""
    order, port = json.loads(sys.argv[1]), free_port()
    ray.init(
        address="local",
        num_cpus=order["replicas"] + 2,
        include_dashboard=False,
        object_store_memory=100 << 20,
        _temp_dir=order["folder"],
        log_to_driver=False,
    )
    try:
        serve.start(http_options={"host": "127.0.0.1", "port": port})
        deployed = serve.deployment(serve.ingress()(Replica)).options(
            num_replicas=order["replicas"], max_ongoing_requests=512, ray_actor_options={"num_cpus": 1}
        )
        serve.run(deployed.bind(order), name="bench", route_prefix="/")
        said = {
            "port": port,
            "router": found("ProxyActor", 1),
            "replica": found("ServeReplica", order["replicas"]),
        }
        print(json.dumps(said), flush=True)
        sys.stdin.read()
    finally:
        ray.shutdown()


if __name__ == "__main__":
    main()
