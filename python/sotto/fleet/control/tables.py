"""The tables of the store. Points in time are seconds since 1970; ids are random hexadecimal digits."""

from __future__ import annotations

import secrets
from typing import Any

from sqlalchemy import JSON, Double, ForeignKey, Index, Integer, String, Text, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


def new_id() -> str:
    """Returns an id of 128 random bits."""
    return secrets.token_hex(16)


class Base(DeclarativeBase):
    """Base of the tables."""

    type_annotation_map = {float: Double, dict[str, Any]: JSON, list[str]: JSON, list[int]: JSON}  # noqa: RUF012


class Project(Base):
    """A project: the owner of tokens and workloads. `webhook_url`: receives the results of jobs."""

    __tablename__ = "projects"
    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    slug: Mapped[str] = mapped_column(String(63), unique=True)
    created_at: Mapped[float]
    webhook_url: Mapped[str | None] = mapped_column(Text)
    webhook_secret: Mapped[str | None] = mapped_column(String(80))


class Token(Base):
    """A token. `digest`: SHA-256 of its secret. `workload_slug`: the one workload that it may call.

    `priority` and `target_tps`: the most that its requests get.
    """

    __tablename__ = "tokens"
    id: Mapped[str] = mapped_column(String(8), primary_key=True)
    kind: Mapped[str] = mapped_column(String(8))
    project_id: Mapped[str] = mapped_column(ForeignKey("projects.id"), index=True)
    workload_slug: Mapped[str | None] = mapped_column(String(63))
    scopes: Mapped[list[str]]
    name: Mapped[str] = mapped_column(String(200), default="")
    digest: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[float]
    revoked_at: Mapped[float | None]
    priority: Mapped[str | None] = mapped_column(String(20))
    target_tps: Mapped[float | None]


class Workload(Base):
    """A workload: what was declared, and how far it has come.

    `generation` counts changes that need another process. `address`: where the gateway finds it; it may be
    that of an earlier generation while a later one starts. `serving`: the generation whose replicas clients
    ask; None: none. `ready`, `wanted`: replicas that answer, and that are to answer.
    """

    __tablename__ = "workloads"
    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    project_id: Mapped[str] = mapped_column(ForeignKey("projects.id"))
    name: Mapped[str] = mapped_column(String(200))
    slug: Mapped[str] = mapped_column(String(63))
    description: Mapped[str | None] = mapped_column(Text)
    task_type: Mapped[str] = mapped_column(String(20))
    backend: Mapped[str] = mapped_column(String(20))
    model_name: Mapped[str] = mapped_column(Text)
    config: Mapped[dict[str, Any]]
    worker_id: Mapped[str | None] = mapped_column(String(200))
    gpu_resource_id: Mapped[str | None] = mapped_column(String(200))
    execution_policy: Mapped[str] = mapped_column(String(20))
    execution_policy_config: Mapped[dict[str, Any]]
    created_at: Mapped[float]
    updated_at: Mapped[float]
    deleted_at: Mapped[float | None]
    generation: Mapped[int] = mapped_column(Integer, default=1)
    phase: Mapped[str] = mapped_column(String(20), default="scheduling")
    message: Mapped[str] = mapped_column(Text, default="waiting for a worker")
    address: Mapped[str | None] = mapped_column(Text)
    serving: Mapped[int | None]
    ready: Mapped[int] = mapped_column(Integer, default=0)
    wanted: Mapped[int] = mapped_column(Integer, default=0)
    __table_args__ = (
        Index(
            "workloads_slug",
            "project_id",
            "slug",
            unique=True,
            sqlite_where=text("deleted_at IS NULL"),
            postgresql_where=text("deleted_at IS NULL"),
        ),
    )


class Event(Base):
    """A step on a workload's way to readiness."""

    __tablename__ = "events"
    id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=True)
    workload_id: Mapped[str] = mapped_column(String(32), index=True)
    generation: Mapped[int]
    at: Mapped[float]
    phase: Mapped[str] = mapped_column(String(20))
    message: Mapped[str] = mapped_column(Text)
    step: Mapped[str | None] = mapped_column(String(64))


class NodeRow(Base):
    """A machine that runs workloads. `memory`: bytes."""

    __tablename__ = "nodes"
    id: Mapped[str] = mapped_column(String(200), primary_key=True)
    cores: Mapped[int]
    memory: Mapped[float]
    gpus: Mapped[list[str]]
    version: Mapped[str] = mapped_column(String(40))
    seen_at: Mapped[float]


class ReplicaRow(Base):
    """A replica that clients may ask at its own address, through an ingress.

    `name`: the same for the replica that takes its place on the node. `seen_at`: when it was renewed last.
    """

    __tablename__ = "replicas"
    workload_id: Mapped[str] = mapped_column(String(32), primary_key=True)
    generation: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(String(80), primary_key=True)
    address: Mapped[str] = mapped_column(String(64))
    port: Mapped[int]
    seen_at: Mapped[float]


class Usage(Base):
    """What one key used of one workload in one hour."""

    __tablename__ = "usage"
    project_id: Mapped[str] = mapped_column(String(32), primary_key=True)
    workload_id: Mapped[str] = mapped_column(String(32), primary_key=True)
    token_id: Mapped[str] = mapped_column(String(8), primary_key=True)
    hour: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    requests: Mapped[int] = mapped_column(default=0)
    failures: Mapped[int] = mapped_column(default=0)
    prompt_tokens: Mapped[int] = mapped_column(default=0)
    completion_tokens: Mapped[int] = mapped_column(default=0)


class UsageWriter(Base):
    """The last batch of usage that a process has added, so that no batch is added twice."""

    __tablename__ = "usage_writers"
    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    batch: Mapped[int]
    at: Mapped[float]


class LoadRow(Base):
    """What one process measures of one workload, as `meter.Live`. `at`: when it was noted, by its clock."""

    __tablename__ = "load"
    workload_id: Mapped[str] = mapped_column(String(32), primary_key=True)
    writer: Mapped[str] = mapped_column(String(16), primary_key=True)
    at: Mapped[float]
    running: Mapped[int]
    waiting: Mapped[int]
    sessions: Mapped[int]
    requests_per_minute: Mapped[float]
    tokens_per_second: Mapped[float]
    waits: Mapped[list[int]]


class Quota(Base):
    """A limit for a project, or for one of its keys: `amount` of a `metric` in each window of `seconds`."""

    __tablename__ = "quotas"
    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    project_id: Mapped[str] = mapped_column(ForeignKey("projects.id"), index=True)
    token_id: Mapped[str | None] = mapped_column(String(8))
    metric: Mapped[str] = mapped_column(String(10))
    seconds: Mapped[int]
    amount: Mapped[int]


class QuotaWindow(Base):
    """What gateways have leased of a quota in one window."""

    __tablename__ = "quota_windows"
    quota_id: Mapped[str] = mapped_column(String(32), primary_key=True)
    window: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    leased: Mapped[int] = mapped_column(default=0)


class Job(Base):
    """An asynchronous request. `state`: queued, running, sending, done or failed."""

    __tablename__ = "jobs"
    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    project_id: Mapped[str] = mapped_column(String(32), index=True)
    workload_id: Mapped[str] = mapped_column(String(32))
    token_id: Mapped[str] = mapped_column(String(8))
    kind: Mapped[str] = mapped_column(String(40))
    content_type: Mapped[str] = mapped_column(String(200))
    body: Mapped[str] = mapped_column(Text)  # base64
    context: Mapped[str | None] = mapped_column(Text)  # JSON
    state: Mapped[str] = mapped_column(String(12))
    attempts: Mapped[int] = mapped_column(default=0)
    due_at: Mapped[float] = mapped_column(index=True)
    holder: Mapped[str | None] = mapped_column(String(32))
    result: Mapped[str | None] = mapped_column(Text)  # the body of the webhook
    created_at: Mapped[float]


class Lease(Base):
    """A role that one process at a time has, such as that of the reconciler."""

    __tablename__ = "leases"
    name: Mapped[str] = mapped_column(String(40), primary_key=True)
    holder: Mapped[str] = mapped_column(String(32))
    expires_at: Mapped[float]
