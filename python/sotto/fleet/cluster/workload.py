"""One workload on the cluster: an application of Ray Serve for each version, watched and replaced."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from ..control.launch import CannotLaunch
from ..control.placement import Deployment, Places, Report, Reporter
from ..control.planning import is_planned
from .cluster import Application
from .needs import Needs, RayNode, candidates, fit, room, selected
from .settings import version_label
from .view import State, View

log = logging.getLogger("sotto.fleet")
_START_TIMEOUT = 1800.0  # seconds until all replicas of a version have to answer
_GRACE = 1.0  # seconds in which requests that have looked up the address before still reach it
_RESTARTS = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0)  # seconds before an application is deployed again
_STEADY = 60.0  # seconds of service after which restarts are counted anew
_AWAY = "the head of the cluster does not answer; replicas on other nodes go on"
_PREFIX = "sotto-"
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def application_name(workload_id: str, generation: int) -> str:
    """Returns the name of the application of a version; its path too."""
    return f"{_PREFIX}{workload_id}-{generation}"


def owner(name: str) -> tuple[str, int] | None:
    """Returns the workload id and the generation of an application; None: it is not of a workload."""
    workload_id, _, generation = name.removeprefix(_PREFIX).rpartition("-")
    if not name.startswith(_PREFIX) or not workload_id or not generation.isdecimal():
        return None
    return workload_id, int(generation)


class Limits(NamedTuple):
    """Limits of a workload.

    Attributes:
        cores: Cores of a replica whose config sets no `threads`.
        room_wait: Seconds for which a version waits for room that other replicas have reserved.
    """

    cores: float
    room_wait: float


class Workload:
    """Runs one workload.

    Attributes:
        deployment: What runs, or is to run.
    """

    def __init__(self, view: View, report: Reporter, limits: Limits) -> None:
        self.deployment: Deployment | None = None
        self._view, self._report, self._limits = view, report, limits
        self._serving: str | None = None  # name of the application that the gateway asks
        self._said: tuple[str, str, str | None] = (
            "scheduling",
            "waiting for the cluster",
            None,
        )  # phase, message and step
        self._task: asyncio.Task[None] | None = None

    async def become(self, deployment: Deployment) -> None:
        """Runs another version or number of replicas; does nothing if it is the same."""
        if deployment == self.deployment:
            return
        await self.release()
        self.deployment = deployment
        self._task = asyncio.create_task(self._run(deployment))

    async def release(self) -> None:
        """Stops watching. Applications go on."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def remove(self, workload_id: str) -> None:
        """Stops all applications of the workload; returns when none is left."""
        await self.release()
        while True:
            own = self._own(await self._next(), workload_id)
            if not own:
                return
            await self._delete(own)

    async def _run(self, deployment: Deployment) -> None:
        """Brings a version up and keeps it up; after an error, tries again when nodes come or go."""
        while True:
            before = _ids(await self._next())
            try:
                await self._keep_running(deployment)
            except CannotLaunch as error:
                await self._say("error", str(error))
            except Exception as error:
                log.exception("workload %s/%s failed", deployment.project, deployment.slug)
                await self._say("error", f"internal error: {type(error).__name__}")
            await self._other_nodes(before)
            await self._say("scheduling", "nodes have come or gone; trying again")

    async def _keep_running(self, deployment: Deployment) -> None:
        clock = asyncio.get_running_loop().time
        restarts = 0
        while True:
            began = clock()
            reason = await self._serve(deployment)
            restarts = 0 if clock() - began > _STEADY else restarts + 1
            if restarts >= len(_RESTARTS):
                raise CannotLaunch(f"deployed {restarts} times; {reason}")
            await self._say("bootstrapping", f"deploying again; {reason}", "restart")
            await asyncio.sleep(_RESTARTS[restarts])

    async def _serve(self, deployment: Deployment) -> str:
        """Brings a version up, ends others and watches it. Returns why it has to be deployed again.

        Raises:
            CannotLaunch: The version cannot run, or did not become ready.
        """
        name = application_name(deployment.workload_id, deployment.generation)
        own = await self._settled(deployment, name)
        if deployment.replicas == 0:
            await self._pause(deployment, own)
        if name not in own:
            actor: Mapping[str, Any] = await self._place(deployment)
            await self._view.call(self._view.cluster.deploy, name, deployment, actor)
            await self._say("bootstrapping", f"loading {deployment.model}", "model_load")
        elif own[name].wanted != deployment.replicas or not _allowed(own[name], deployment):
            actor = await self._options(deployment, own[name])
            await self._view.call(self._view.cluster.deploy, name, deployment, actor)
        if self._serving != name:
            reason = await self._until_running(deployment, name)
            if reason is not None:
                return reason
        self._serving = name
        return await self._watch(deployment, name)

    async def _settled(self, deployment: Deployment, name: str) -> dict[str, Application]:
        """Returns the applications of the workload, once `name` neither ends nor has failed."""
        while True:
            own = self._own(await self._next(), deployment.workload_id)
            running = [one for one in own if own[one].running and own[one].status != "DELETING"]
            latest = max(running, key=lambda one: (one == name, owner(one)), default=None)
            self._serving = latest
            status = own[name].status if name in own else ""
            if status == "DEPLOY_FAILED":
                await self._delete({name: own[name]})
            elif status != "DELETING":
                return {one: app for one, app in own.items() if app.status != "DELETING"}

    async def _pause(self, deployment: Deployment, own: Mapping[str, Application]) -> None:
        """Stops all replicas, until the workload is to have some."""
        self._serving = None
        await self._say("scheduling", "the execution policy schedules no replica now")
        while True:
            await self._delete(own)
            own = self._own(await self._next(), deployment.workload_id)

    async def _place(self, deployment: Deployment) -> dict[str, Any]:
        """Returns the options of the replicas' actors, once the nodes have room for them.

        Raises:
            CannotLaunch: No node can run the workload, or none has room for it in time.
        """
        if not is_planned(deployment):
            raise CannotLaunch(
                f"backend '{deployment.backend}' does not run, or not with a command, on placement 'ray', "
                "which runs 'llamacpp' without a command; "
                "`sotto fleet serve --placement local` runs it"
            )
        await self._say("scheduling", f"planning the memory of {deployment.model}", "plan")
        needs = await self._needs(deployment)
        clock, said = asyncio.get_running_loop().time, False
        end = clock() + self._limits.room_wait
        while needs.room((await self._next()).nodes, free=True) < deployment.replicas:
            reason = f"no room for {deployment.replicas} x {needs.text()} beside what runs"
            if clock() > end:
                raise CannotLaunch(reason)
            if not said:
                await self._say("scheduling", f"waiting: {reason}")
            said = True
        where = ", ".join(f"'{one}'" for one in needs.nodes)
        await self._say("provisioning", f"starting {deployment.replicas} x {needs.text()} on {where}",
                        "process_start")  # fmt: skip
        return needs.actor_options(version_label())

    async def _needs(self, deployment: Deployment) -> Needs:
        """Returns what a replica takes, as the nodes plan it. Raises `CannotLaunch` if no node can run it."""
        nodes = candidates(deployment, (await self._next()).nodes, version_label())
        plans = await self._view.call(self._view.cluster.plan, deployment, nodes)
        cores = float(deployment.config.get("threads", self._limits.cores))
        return fit(deployment, nodes, plans, cores, deployment.replicas)

    async def _options(self, deployment: Deployment, app: Application) -> Mapping[str, Any]:
        """Returns the options for another number of replicas: those that it has, as long as these do.

        With options that name other nodes, Ray Serve replaces all replicas one by one, new ones first; so
        nodes that came later are used once the replicas no longer fit on the others.
        """
        options = app.options
        nodes = self._view.state.nodes
        holds = sum(_room(app, node) for node in nodes if node.name in selected(options))
        if holds >= deployment.replicas and _allowed(app, deployment):
            return options
        try:
            found = (await self._needs(deployment)).actor_options(version_label())
        except CannotLaunch as error:
            log.warning("workload %s/%s stays as it is: %s", deployment.project, deployment.slug, error)
            return options
        return {**options, "label_selector": found["label_selector"]}

    def places(self, workload_id: str) -> Places:
        """Returns where replicas run, and may run."""
        state = self._view.state
        own = self._own(state, workload_id)
        latest = max(own, key=lambda one: owner(one) or ("", 0), default=None)
        name = self._serving if self._serving in own else latest
        version = version_label()
        if self.deployment is None:
            found = [node for node in state.nodes if node.version == version]
        else:
            try:
                found = candidates(replace(self.deployment, nodes=None), state.nodes, version)
            except CannotLaunch:
                found = []
        if name is None or not own[name].options:
            return Places({}, {node.name: 1 for node in found})
        app = own[name]
        names = {node.ray_id: node.name for node in state.nodes}
        ready = Counter(names[id] for id, _ in app.running if id in names)
        return Places(ready, {node.name: _room(app, node) for node in found}, selected(app.options))

    async def _until_running(self, deployment: Deployment, name: str) -> str | None:
        """Waits until all replicas of a version answer. Returns why it has to be deployed again, or None.

        Raises:
            CannotLaunch: It failed; nothing of it is left.
        """
        clock = asyncio.get_running_loop().time
        end = clock() + _START_TIMEOUT
        while True:
            app = self._own(await self._next(), deployment.workload_id).get(name)
            if app is None or app.status == "DELETING":
                return "its application was deleted"
            if app.status == "RUNNING":
                return None
            if app.status == "DEPLOY_FAILED" or clock() > end:
                await self._delete({name: app})
                late = f"the replicas did not answer within {_START_TIMEOUT:g} s"
                raise CannotLaunch(_last_words(app.message) if app.status == "DEPLOY_FAILED" else late)

    async def _watch(self, deployment: Deployment, name: str) -> str:
        """Reports on a version that serves, and ends the others. Returns why it has to be deployed again."""
        clock = asyncio.get_running_loop().time
        began, said = clock(), ("", "")
        while True:
            state = await self._next()
            own = self._own(state, deployment.workload_id)
            app = own.pop(name, None)
            if app is None or app.status in ("DELETING", "DEPLOY_FAILED"):
                self._serving = None
                return (
                    "its application was deleted" if app is None else _last_words(app.message or app.status)
                )
            now = _progress(deployment, app, state.nodes)
            if now != said:
                said = now
                await self._say(*now, None if now[0] == "ready" else "restart")
            if clock() - began > _GRACE:
                await self._delete(own)

    async def _other_nodes(self, before: set[str]) -> None:
        """Waits until nodes have come or gone. Meanwhile, the version before answers."""
        while _ids(await self._next()) == before:
            pass

    async def _delete(self, applications: Mapping[str, Application]) -> None:
        for name, app in applications.items():
            if app.status != "DELETING":
                await self._view.call(self._view.cluster.delete, name)

    def _own(self, state: State, workload_id: str) -> dict[str, Application]:
        found = {}
        for name, app in state.applications.items():
            of = owner(name)
            if of is not None and of[0] == workload_id:
                found[name] = app
        return found

    async def _next(self) -> State:
        """Waits for the next state; reports meanwhile if the cluster does not answer."""
        away = False

        async def on_away() -> None:
            nonlocal away
            away = self.deployment is not None
            if away:
                await self._report_now(self._said[0], f"{self._said[1]}; {_AWAY}", self._said[2])

        state = await self._view.next(on_away)
        if away:
            await self._report_now(*self._said)
        return state

    async def _say(self, phase: str, message: str, step: str | None = None) -> None:
        self._said = (phase, message, step)
        await self._report_now(phase, message, step)

    async def _report_now(self, phase: str, message: str, step: str | None) -> None:
        assert self.deployment is not None
        address = serving = None
        ready = 0
        if self._serving is not None:
            app = self._own(self._view.state, self.deployment.workload_id).get(self._serving)
            ready = 0 if app is None else len(app.running)
            address, of = self._view.cluster.address(self._serving), owner(self._serving)
            serving = None if of is None else of[1]
        deployed = self.deployment
        made = Report(
            workload_id=deployed.workload_id,
            generation=deployed.generation,
            phase=phase,
            message=message,
            step=step,
            address=address,
            serving=serving,
            ready=ready,
            wanted=deployed.replicas,
        )
        await asyncio.shield(self._report(made))  # a transaction is never cancelled


def _ids(state: State) -> set[str]:
    return {node.ray_id for node in state.nodes}


def _progress(deployment: Deployment, app: Application, nodes: list[RayNode]) -> tuple[str, str]:
    """Returns phase and message of a version that has been ready."""
    if not app.running:
        return "bootstrapping", "its replicas ended; Ray starts them again"
    names = {node.ray_id: node.name for node in nodes}
    where = ", ".join(f"'{one}'" for one in sorted({names.get(id, "?") for id, _ in app.running}))
    count = len(app.running)
    replicas = "" if count == deployment.replicas == 1 else f", {count} of {deployment.replicas} replicas"
    return "ready", f"serving {deployment.model} on {where}{replicas}"


def _allowed(app: Application, deployment: Deployment) -> bool:
    """Returns True if an application runs only on nodes that its workload may use."""
    return deployment.nodes is None or set(selected(app.options)) <= set(deployment.nodes)


def _room(app: Application, node: RayNode) -> int:
    return room(app.options, node, sum(id == node.ray_id for id, _ in app.running))


def _last_words(message: str) -> str:
    """Returns the reason at the end of a message of Ray Serve, without the traceback."""
    lines = [line.strip() for line in _ESCAPE.sub("", message).splitlines() if line.strip()]
    return lines[-1][:500] if lines else "the replicas did not start"
