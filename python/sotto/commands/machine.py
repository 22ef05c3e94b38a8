"""The machine that all this runs on."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def processor_name() -> str:
    """What the processor calls itself."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        return platform.processor() or "unknown"
    return "unknown"


def memory_bytes() -> int:
    """All of its memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def available_bytes() -> int:
    """What programs could still take without swapping."""
    try:
        with open("/proc/meminfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass  # not Linux
    return memory_bytes() // 2


def governor() -> str | None:
    """How the first core's speed is governed, where the system tells."""
    try:
        path = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return None


def system_name() -> str:
    """The operating system as it calls itself."""
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    except OSError:
        return f"{platform.system()} {platform.release()}"
