"""Jobs: requests that are answered later, by a signed webhook, at least once."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import logging
import secrets
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

import httpx2
from sqlalchemy import select, update
from sqlalchemy.exc import SQLAlchemyError

from ..webhooks import HEADER, sign
from .changes import JOBS, Changes
from .errors import Refusal, invalid
from .gateway import Answer, Gateway
from .store import Store, why
from .tables import Job, Project, Workload
from .tokens import INFERENCE, Identity
from .workloads import Route, Workloads

log = logging.getLogger("sotto.fleet")
T = TypeVar("T")
RETRIES = (60.0, 300.0, 900.0, 3600.0, 21_600.0)  # seconds before each further delivery
KINDS = {
    "chat": "chat/completions",
    "completion": "completions",
    "embedding": "embeddings",
    "rerank": "rerank",
    "classification": "classify",
    "reward": "reward",
    "transcription": "audio/transcriptions",
    "translation": "audio/translations",
    "image": "images/generations",
    "speech": "audio/speech",
}
_WORKERS = 4  # jobs that a process runs at once
_EVERY = 1.0  # seconds between two looks, if nothing changes
_HELD = 1800.0  # seconds after which a job of a process that ended is taken by another
_NOT_READY = 5.0  # seconds before a job is tried again whose workload is not ready
_MAX_AGE = 86_400.0  # seconds for which a job waits for its workload
_TIMEOUT = 30.0  # seconds for a webhook


class _Interrupted(Exception):
    """The process stops."""


class Jobs:
    """The jobs of a store."""

    def __init__(
        self,
        store: Store,
        changes: Changes,
        gateway: Gateway,
        workloads: Workloads,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store, self._changes, self._gateway, self._workloads = store, changes, gateway, workloads
        self._clock = clock
        self._holder = secrets.token_hex(8)
        self._workers: list[asyncio.Task[None]] = []
        self._outside: set[asyncio.Future[Any]] = set()  # requests to workloads and webhooks
        self._waiter = changes.waiter()
        self._stopping = False
        self._unnoted: set[str] = set()  # jobs whose progress could not be written
        self._http: httpx2.AsyncClient | None = None

    async def submit(self, identity: Identity, route: Route, body: Any) -> str:
        """Stores a job and returns its id.

        Args:
            identity: Who asks.
            route: The workload.
            body: `kind`, `body` or `body_b64` with `content_type`, and `context`, which the webhook returns.

        Raises:
            Refusal: 400: the body is invalid, or the project has no webhook.
        """
        kind, content_type, data, context = _read(body)
        async with self._store.write() as session:
            project = await session.get(Project, identity.project_id)
            if project is None or not project.webhook_url:
                raise Refusal(
                    400,
                    "the project has no webhook, which receives results: set one with `sotto fleet webhook`",
                )
            now = self._clock()
            made = Job(
                project_id=identity.project_id,
                workload_id=route.workload_id,
                token_id=identity.token_id,
                kind=kind,
                content_type=content_type,
                body=base64.b64encode(data).decode(),
                context=None if context is None else json.dumps(context),
                state="queued",
                due_at=now,
                created_at=now,
            )
            session.add(made)
            await self._changes.announce(session, JOBS)
        self._changes.deliver(JOBS)
        return made.id

    async def start(self) -> None:
        """Begins to run jobs."""
        self._http = httpx2.AsyncClient(timeout=_TIMEOUT, follow_redirects=False, trust_env=False)
        self._workers = [asyncio.create_task(self._run()) for _ in range(_WORKERS)]

    async def stop(self) -> None:
        """Ends; jobs that run are run again later."""
        self._stopping = True  # a transaction is never cancelled
        self._waiter.set()
        for request in self._outside:
            request.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        if self._http is not None:
            await self._http.aclose()
        with suppress(SQLAlchemyError, OSError):
            async with self._store.write() as session:
                mine = update(Job).where(Job.holder == self._holder, Job.state.in_(("running", "sending")))
                await session.execute(mine.values(due_at=self._clock(), holder=None))

    async def step(self) -> bool:
        """Takes one job that is due a step further. Returns False if none is due."""
        job = await self._take()
        if job is None:
            return False
        try:
            await (self._execute(job) if job.result is None else self._deliver(job))
        except _Interrupted:
            log.info("job %s is continued by the next process", job.id)
        except (SQLAlchemyError, OSError):
            self._unnoted.add(job.id)  # it is done again, as soon as the store can be written
            raise
        return True

    async def _run(self) -> None:
        while not self._stopping:
            try:
                if await self.step():
                    continue
            except (SQLAlchemyError, OSError) as error:
                log.warning("jobs wait for the store: %s", why(error))
            except Exception:
                log.exception("a job failed; it is tried again")
            await self._changes.wait(_EVERY, self._waiter)

    async def _take(self) -> Job | None:
        """Takes a job that is due; others leave it alone until its time is over."""
        now, again = self._clock(), self._unnoted
        self._unnoted = set()
        due = select(Job.id).where(Job.state.in_(("queued", "running", "sending")), Job.due_at <= now)
        due = due.order_by(Job.due_at).limit(1)
        try:
            async with self._store.write() as session:
                if again:
                    mine = update(Job).where(Job.id.in_(sorted(again)), Job.holder == self._holder)
                    await session.execute(mine.values(due_at=now))
                if not self._store.is_sqlite:
                    due = due.with_for_update(skip_locked=True)
                id = (await session.scalars(due)).first()
                job = None if id is None else await session.get(Job, id)
                if job is not None:
                    job.state = "running" if job.result is None else "sending"
                    job.holder, job.due_at = self._holder, now + _HELD
        except BaseException:
            self._unnoted |= again
            raise
        return job

    async def _execute(self, job: Job) -> None:
        try:
            answer = await self._answer(job)
        except Refusal as error:
            if error.status in (429, 503) and self._clock() - job.created_at < _MAX_AGE:
                await self._set(job.id, state="queued", due_at=self._clock() + _NOT_READY)
                return
            answer = Answer(error.status, "application/json", json.dumps(error.body()).encode())
        await self._set(job.id, state="sending", result=_result(job, answer), due_at=self._clock())

    async def _answer(self, job: Job) -> Answer:
        async with self._store.read() as session:
            workload = await session.get(Workload, job.workload_id)
        if workload is None or workload.deleted_at is not None:
            raise Refusal(404, "the workload was deleted")
        route = await self._workloads.route(job.project_id, workload.slug)
        identity = Identity(job.token_id, "live", job.project_id, "", None, (INFERENCE,))
        data = base64.b64decode(job.body)
        work = self._gateway.complete(identity, workload.slug, route, KINDS[job.kind], data, job.content_type)
        return await self._interruptible(work)

    async def _interruptible(self, work: Awaitable[T]) -> T:
        """Returns the result of a request; raises `_Interrupted` when this process stops."""
        running = asyncio.ensure_future(work)
        self._outside.add(running)
        try:
            return await running
        except asyncio.CancelledError:
            raise _Interrupted from None
        finally:
            self._outside.discard(running)

    async def _deliver(self, job: Job) -> None:
        assert self._http is not None and job.result is not None
        async with self._store.read() as session:
            project = await session.get(Project, job.project_id)
        delivered = False
        if project is not None and project.webhook_url and project.webhook_secret:
            body = job.result.encode()
            signature = sign(body, project.webhook_secret, self._clock())
            headers = {"Content-Type": "application/json", HEADER: signature}
            with suppress(httpx2.TransportError, OSError):
                sending = self._http.post(project.webhook_url, content=body, headers=headers)
                response = await self._interruptible(sending)
                delivered = 200 <= response.status_code < 300
        if delivered:
            await self._end(job.id, "done")
        elif job.attempts < len(RETRIES):
            due = self._clock() + RETRIES[job.attempts]
            await self._set(job.id, state="sending", attempts=job.attempts + 1, due_at=due, holder=None)
        else:
            log.warning("the webhook of job %s failed %d times; it is given up", job.id, job.attempts + 1)
            await self._end(job.id, "failed")

    async def _end(self, id: str, state: str) -> None:
        """Ends a job; its body, which may be large, is not needed again."""
        await self._set(id, state=state, holder=None, body="", due_at=self._clock())

    async def _set(self, id: str, **values: Any) -> None:
        async with self._store.write() as session:
            await session.execute(update(Job).where(Job.id == id).values(**values))


def _read(body: Any) -> tuple[str, str, bytes, Any]:
    """Returns kind, content type, bytes and context of a job. Raises `Refusal` 400."""
    if not isinstance(body, dict):
        raise Refusal(400, "invalid body: expected a JSON object")
    unknown = sorted(set(body) - {"kind", "body", "body_b64", "content_type", "context"})
    if unknown:
        raise Refusal(
            400, f"invalid field '{unknown[0][:100]}': expected kind, body, body_b64, content_type, context"
        )
    by_path = {path: kind for kind, path in KINDS.items()}
    given = str(body.get("kind"))
    kind = by_path.get(given, given)
    if kind not in KINDS:
        raise invalid("kind", given, f"one of {', '.join(KINDS)}")
    if ("body" in body) == ("body_b64" in body):
        raise Refusal(400, "invalid body: expected 'body' or 'body_b64', one of them")
    if "body" in body:
        if not isinstance(body["body"], dict) or body["body"].get("stream"):
            raise Refusal(400, "invalid body: expected an object without 'stream'")
        return kind, "application/json", json.dumps(body["body"]).encode(), body.get("context")
    content_type = body.get("content_type")
    if not isinstance(content_type, str) or not content_type.isprintable() or len(content_type) > 200:
        raise invalid("content_type", content_type, "the type of body_b64")
    try:
        data = base64.b64decode(body["body_b64"], validate=True)
    except (binascii.Error, ValueError, TypeError):
        raise Refusal(400, "invalid body_b64: expected base64") from None
    return kind, content_type, data, body.get("context")


def _result(job: Job, answer: Answer) -> str:
    """Returns the body of the webhook."""
    made: dict[str, Any] = {
        "job_id": job.id,
        "workload_id": job.workload_id,
        "kind": job.kind,
        "status": "succeeded" if answer.status < 400 else "failed",
        "http_status": answer.status,
        "context": None if job.context is None else json.loads(job.context),
    }
    try:
        made["result"] = json.loads(answer.body)
    except (ValueError, RecursionError):
        made["result_b64"] = base64.b64encode(answer.body).decode()
        made["content_type"] = answer.content_type
    return json.dumps(made)
