"""Reads properties of the machine: processor, memory, CPU frequency governor, operating system."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def processor_name() -> str:
    """Returns the processor's model name, or "unknown"."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        return platform.processor() or "unknown"
    return "unknown"


def memory_bytes() -> int:
    """Returns the size of the physical memory in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def available_bytes() -> int:
    """Returns the memory in bytes that is available without swapping.

    Returns half of the physical memory if the system does not report it.
    """
    try:
        with open("/proc/meminfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass  # not Linux
    return memory_bytes() // 2


def governor() -> str | None:
    """Returns the CPU frequency governor of the first core, or None if the system does not report it."""
    try:
        path = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return None


def system_name() -> str:
    """Returns the name of the operating system."""
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    except OSError:
        return f"{platform.system()} {platform.release()}"
