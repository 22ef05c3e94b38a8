"""The data plane in a replica: clients ask it directly, and it checks keys and quotas itself."""

from .application import Admitting
from .endpoint import Endpoint

__all__ = ["Admitting", "Endpoint"]
