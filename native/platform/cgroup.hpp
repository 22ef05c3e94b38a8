// Limits of the Linux control groups that the process is in: what a container may use of its machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "platform/memory.hpp"

namespace sotto {

struct CgroupLimits {
    std::optional<std::uint64_t> memory; // bytes: the lowest limit of the group and its ancestors
    std::optional<std::uint64_t>
        memory_available;        // bytes: the least that one of them leaves, page cache counted as free
    std::optional<double> cores; // the lowest CPU quota, in cores
};

// Reads version 1 and 2 hierarchies, both at once too. `root` is put before every path; tests give one.
// Throws std::bad_alloc. What cannot be read or makes no sense is no limit.
CgroupLimits cgroup_limits(const std::string& root = {});

// What usable_cores() and system_memory() return with the control groups, and for memory the rest of /proc,
// that are under `root`. Nothing is kept for another call. Throw std::bad_alloc.
unsigned usable_cores_under(const std::string& root);
std::optional<SystemMemory> system_memory_under(const std::string& root);

} // namespace sotto
