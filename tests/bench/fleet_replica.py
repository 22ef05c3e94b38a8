"""A replica of a fleet without Ray: the server's application, and beside it the address that clients ask.

`python fleet_replica.py JSON`: `name` and `path` of the model, `engine` (arguments of `aio.Engine`),
`database` (a store without the project). Prints one line of JSON: `port`, where the application answers
without keys; `admitting`, where it checks `key` as in a fleet. Ends with stdin.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import uvicorn

from sotto import aio
from sotto.fleet.control.changes import watched
from sotto.fleet.control.placement import Deployment
from sotto.fleet.control.tables import Project
from sotto.fleet.control.tokens import Tokens
from sotto.fleet.dataplane import Endpoint
from sotto.server import application
from sotto.server.listening import configuration, open_port
from sotto.server.service import Service
from sotto.server.serving import Model, load_model, run
from sotto.server.settings import Settings

PROJECT, MOST = "bench", 512  # requests at once


async def made_key(database: str) -> str:
    """Makes the project. Returns a key of it."""
    async with watched(database, 1) as (store, changes):
        async with store.write() as session:
            session.add(Project(slug=PROJECT, created_at=0.0))
        return await Tokens(store, changes).create(PROJECT, "live")


async def main(order: dict[str, Any]) -> None:
    """Starts, says where, and ends."""
    key = await made_key(order["database"])
    engine = aio.Engine(mode="prioritize_compute", max_requests=MOST, **order["engine"])
    service = Service(engine, Settings(hosts=("*",), max_requests=MOST))
    await load_model(engine, Model(order["name"], order["path"], {}))
    app = application.make(service, application.ROUTES)
    deployment = Deployment("bench", 1, PROJECT, order["name"], order["name"], "llamacpp", "text2text")
    endpoint = Endpoint(app, deployment)
    await endpoint.start(order["database"], "node-1", "127.0.0.1")
    with open_port("127.0.0.1", 0) as listening:
        server = uvicorn.Server(configuration(app, 30.0, None))
        serving = asyncio.ensure_future(server.serve(sockets=[listening]))
        where = {"port": listening.getsockname()[1], "admitting": endpoint.place.port, "key": key}
        print(json.dumps(where), flush=True)
        await asyncio.to_thread(sys.stdin.read)
        server.should_exit = True
        await serving
    await endpoint.stop(1.0)


if __name__ == "__main__":
    run(main(json.loads(sys.argv[1])))
