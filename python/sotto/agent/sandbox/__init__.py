"""Code in a sandbox: `PythonSandbox` runs Python code that a model writes."""

from __future__ import annotations

from .limits import SandboxLimits
from .results import SandboxError, SandboxFile, SandboxResult
from .sandbox import PythonSandbox

__all__ = ["PythonSandbox", "SandboxError", "SandboxFile", "SandboxLimits", "SandboxResult"]
