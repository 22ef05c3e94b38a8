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

// Both read cgroup v1, v2 and hybrid hierarchies. `root` is prefixed to every path, for tests. Unreadable or
// implausible limits are ignored. Throw std::bad_alloc.
CgroupMemory cgroup_memory(const std::string& root = {});
// The lowest CPU quota, in cores.
std::optional<double> cgroup_cores(const std::string& root = {});

// Uncached versions of usable_cores() and system_memory() that read control groups and /proc below `root`.
// Throw std::bad_alloc.
unsigned usable_cores_under(const std::string& root);
std::optional<SystemMemory> system_memory_under(const std::string& root);

// Reads a file of /proc or of a control group, for which stat() reports no size; empty if it cannot be read.
// Opens and closes the file, because the kernel generates the text at each open. Throws std::bad_alloc.
std::string kernel_text(const std::string& path);

} // namespace sotto
