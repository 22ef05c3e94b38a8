"""The load that each process measures, and numbers of replicas."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Brings the tables up to this revision."""
    op.create_table(
        "load",
        sa.Column("workload_id", sa.String(length=32), nullable=False),
        sa.Column("writer", sa.String(length=16), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("running", sa.Integer(), nullable=False),
        sa.Column("waiting", sa.Integer(), nullable=False),
        sa.Column("sessions", sa.Integer(), nullable=False),
        sa.Column("requests_per_minute", sa.Double(), nullable=False),
        sa.Column("tokens_per_second", sa.Double(), nullable=False),
        sa.Column("waits", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("workload_id", "writer"),
    )
    for name in ("ready", "wanted"):
        op.add_column("workloads", sa.Column(name, sa.Integer(), nullable=False, server_default="0"))


def downgrade() -> None:
    """Returns to the revision before."""
    for name in ("ready", "wanted"):
        op.drop_column("workloads", name)
    op.drop_table("load")
