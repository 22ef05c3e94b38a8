"""The ingress of a node: HAProxy, which sends requests straight to replicas and keeps sessions on them."""

from .configuration import Replica, Route, configuration, ring_ids
from .haproxy import HaProxy, IngressError
from .settings import IngressSettings

__all__ = ["HaProxy", "IngressError", "IngressSettings", "Replica", "Route", "configuration", "ring_ids"]
