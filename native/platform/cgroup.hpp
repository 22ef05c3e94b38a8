// Limits of the Linux control groups of this process: the share of the machine that a container may use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "platform/memory.hpp"

namespace sotto {

struct CgroupMemory {
    std::optional<std::uint64_t> limit; // bytes: the lowest limit of the group and its ancestors
    // Bytes still available: the minimum over the group and its ancestors. Page cache that the kernel
    // reclaims first counts as available.
    std::optional<std::uint64_t> available;
};

// cgroup_memory() and cgroup_cores() read cgroup v1, v2 and hybrid hierarchies and ignore unreadable or
// implausible limits. `root` is prefixed to every path, for tests. Both functions throw std::bad_alloc.
CgroupMemory cgroup_memory(const std::string& root = {});
// Returns the lowest CPU quota of the group and its ancestors, in cores; nothing without a quota.
std::optional<double> cgroup_cores(const std::string& root = {});

// usable_cores_under() and system_memory_under() return the same as usable_cores() and system_memory(), but
// cache nothing and read control groups and /proc below `root`. Both functions throw std::bad_alloc.
unsigned usable_cores_under(const std::string& root);
std::optional<SystemMemory> system_memory_under(const std::string& root);

// Reads a file of /proc or of a control group, for which stat() reports no size; empty if it cannot be read.
// Opens and closes the file, because the kernel generates the text at each open. Throws std::bad_alloc.
std::string kernel_text(const std::string& path);

} // namespace sotto
