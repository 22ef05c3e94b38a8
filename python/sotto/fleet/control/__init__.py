"""The control plane: projects, tokens and workloads behind HTTP, and a gateway to the workloads.

Needs the extra `fleet`: `pip install sotto-runtime[fleet]`. The command is `sotto fleet serve`.
"""

from .application import app
from .placement import Deployment, Node, Placement, Report
from .settings import ControlSettings

__all__ = ["ControlSettings", "Deployment", "Node", "Placement", "Report", "app"]
