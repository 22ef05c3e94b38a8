"""The process of one workload on this machine: admitted, started, restarted, replaced by its next version."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from .instance import Instance, free_port
from .launch import EXCLUDED, CannotLaunch, launch
from .placement import Deployment, Report, Reporter
from .planning import PLAN_TIMEOUT, is_planned, plan_command, planned_mb

log = logging.getLogger("sotto.fleet")
NODE = "local"
_RESTARTS = (1.0, 2.0, 4.0, 8.0, 16.0)  # seconds before each restart; after the last one, the workload failed
_STEADY = 60.0  # seconds of service after which restarts are counted anew
_GRACE = 1.0  # seconds in which requests that have looked up the address before still reach it
_START_TIMEOUT = 1800.0  # seconds until a process has to answer


class Machine(NamedTuple):
    """What a runner has of its machine.

    Attributes:
        folder: Folder of sockets and logs.
        drain: Seconds for which running answers may go on when a process is ended.
        free_mb: Returns the memory that other workloads leave, in MB; None: no limit is set.
    """

    folder: Path
    drain: float
    free_mb: Callable[[], int | None]


class Runner:
    """Runs one workload.

    Attributes:
        deployment: What runs, or is to run.
        planned_mb: Memory that `sotto plan` says it takes, in MB; 0 for programs that are not ours.
    """

    def __init__(self, machine: Machine, report: Reporter) -> None:
        self.deployment: Deployment | None = None
        self.planned_mb = 0
        self._machine, self._report = machine, report
        self._serving: Instance | None = None
        self._starting: Instance | None = None
        self._task: asyncio.Task[None] | None = None

    async def become(self, deployment: Deployment) -> None:
        """Runs another version; does nothing if the process would be the same."""
        wanted = replace(deployment, replicas=min(deployment.replicas, 1))
        if wanted == self.deployment:
            return
        await self._cancel()
        self.deployment = wanted
        self._task = asyncio.create_task(self._run(wanted))

    async def stop(self) -> None:
        """Ends the processes."""
        await self._cancel()
        await self._end_serving()

    @property
    def ready(self) -> bool:
        """True if a process answers."""
        return self._serving is not None

    def pids(self) -> list[int]:
        """Returns the ids of the processes."""
        return [one.pid for one in (self._serving, self._starting) if one is not None and one.started]

    async def _run(self, deployment: Deployment) -> None:
        """Starts a version, restarts it when it ends, and gives up if it ends again and again."""
        try:
            if deployment.replicas == 0:
                await self._end_serving()
                await self._say("scheduling", "the execution policy schedules no replica now")
                return
            await self._check(deployment)
            await self._keep_running(deployment)
        except CannotLaunch as error:
            await self._say("error", str(error))
        except OSError as error:
            await self._say("error", f"cannot start the process: {error.strerror or error}")
        except Exception as error:
            log.exception("workload %s/%s failed", deployment.project, deployment.slug)
            await self._say("error", f"internal error: {type(error).__name__}")

    async def _keep_running(self, deployment: Deployment) -> None:
        clock = asyncio.get_running_loop().time
        restarts = 0
        while True:
            began = clock()
            reason = await self._serve(deployment)
            if clock() - began > _STEADY:
                restarts = 0
            if restarts == len(_RESTARTS):
                raise CannotLaunch(f"ended {restarts + 1} times; {reason}")
            await self._say("bootstrapping", f"restarting; {reason}", "restart")
            await asyncio.sleep(_RESTARTS[restarts])
            restarts += 1

    async def _serve(self, deployment: Deployment) -> str:
        """Starts a process and waits for its end. Returns the reason of the end.

        Raises:
            CannotLaunch: The process ended before it answered.
        """
        await self._say("provisioning", f"starting a process on node '{NODE}'", "process_start")
        log_file = self._machine.folder / f"{deployment.workload_id[:12]}-{deployment.generation}.log"
        made = Instance(
            launch(deployment, self._machine.folder, free_port(), self._machine.free_mb()), log_file
        )
        self._starting = made
        try:
            await made.start()
            await self._say("bootstrapping", f"loading {deployment.model}", "model_load")
            if not await asyncio.wait_for(made.answers(), _START_TIMEOUT):
                raise CannotLaunch(made.reason())
        except BaseException as error:
            await asyncio.shield(made.end(0))
            if isinstance(error, TimeoutError):
                raise CannotLaunch(f"the process did not answer within {_START_TIMEOUT:g} s") from None
            raise
        finally:
            self._starting = None
        before, self._serving = self._serving, made
        await self._say("ready", f"serving {deployment.model} on node '{NODE}'")
        if before is not None:
            try:
                await asyncio.sleep(_GRACE)
            finally:
                await asyncio.shield(before.end(self._machine.drain))
        await made.wait()
        self._serving = None
        return made.reason()

    async def _check(self, deployment: Deployment) -> None:
        """Raises `CannotLaunch` if the workload cannot run on this machine."""
        if deployment.nodes is not None and NODE not in deployment.nodes:
            raise CannotLaunch(EXCLUDED)
        if deployment.worker_id not in (None, NODE):
            raise CannotLaunch(f"no node '{deployment.worker_id}'; the nodes are: {NODE}")
        if deployment.gpu_resource_id is not None:
            raise CannotLaunch(f"no node has the GPU '{deployment.gpu_resource_id}'")
        if is_planned(deployment):
            await self._plan(deployment)

    async def _plan(self, deployment: Deployment) -> None:
        """Raises `CannotLaunch` with the words of `sotto plan` if the model does not fit, or is not here."""
        await self._say("scheduling", f"planning the memory of {deployment.model}", "plan")
        self.planned_mb = planned_mb(*await _output(plan_command(deployment, self._machine.free_mb())))

    async def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    async def _end_serving(self) -> None:
        before, self._serving = self._serving, None
        if before is not None:
            await before.end(self._machine.drain)

    async def _say(self, phase: str, message: str, step: str | None = None) -> None:
        assert self.deployment is not None
        address = None if self._serving is None else self._serving.launch.address
        made = Report(
            workload_id=self.deployment.workload_id,
            generation=self.deployment.generation,
            phase=phase,
            message=message,
            step=step,
            address=address,
            ready=int(self.ready),
            wanted=self.deployment.replicas,
        )
        await asyncio.shield(self._report(made))  # a transaction is never cancelled


async def _output(command: list[str]) -> tuple[int, str, str]:
    """Runs a command. Returns its exit status and what it printed, on both streams."""
    pipe: Any = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe
    )
    try:
        said, complained = await asyncio.wait_for(process.communicate(), PLAN_TIMEOUT)
    except TimeoutError:
        raise CannotLaunch(f"`sotto plan` did not end within {PLAN_TIMEOUT:g} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return process.returncode, said.decode("utf-8", "replace"), complained.decode("utf-8", "replace")
