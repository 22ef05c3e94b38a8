"""Replicas that clients ask directly; priority and pace of keys."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Brings the tables up to this revision."""
    op.create_table(
        "replicas",
        sa.Column("workload_id", sa.String(length=32), nullable=False),
        sa.Column("generation", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("address", sa.String(length=64), nullable=False),
        sa.Column("port", sa.Integer(), nullable=False),
        sa.Column("seen_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("workload_id", "generation", "name"),
    )
    op.add_column("tokens", sa.Column("priority", sa.String(length=20), nullable=True))
    op.add_column("tokens", sa.Column("target_tps", sa.Double(), nullable=True))
    op.add_column("workloads", sa.Column("serving", sa.Integer(), nullable=True))


def downgrade() -> None:
    """Returns to the revision before."""
    op.drop_column("workloads", "serving")
    op.drop_column("tokens", "target_tps")
    op.drop_column("tokens", "priority")
    op.drop_table("replicas")
