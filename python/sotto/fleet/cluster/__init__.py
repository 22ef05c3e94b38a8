"""Workloads on a Ray cluster: `RayPlacement`, the nodes of the cluster, and what a replica runs.

Needs the extra `fleet-ray`: `pip install sotto-runtime[fleet,fleet-ray]`.
"""
