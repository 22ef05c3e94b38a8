// Limits of the Linux control groups that the process is in: what a container may use of its machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "platform/memory.hpp"

namespace sotto {

struct CgroupMemory {
    std::optional<std::uint64_t> limit; // bytes: the lowest limit of the group and its ancestors
    // Bytes: the least that one of them leaves; page cache that the kernel drops first counts as free.
    std::optional<std::uint64_t> available;
};

// Both read version 1 and 2 hierarchies, both at once too. `root` is put before every path; tests give one.
// Throw std::bad_alloc. What cannot be read or makes no sense is no limit.
CgroupMemory cgroup_memory(const std::string& root = {});
// The lowest CPU quota, in cores.
std::optional<double> cgroup_cores(const std::string& root = {});

// What usable_cores() and system_memory() return with the control groups, and for memory the rest of /proc,
// that are under `root`. Nothing is kept for another call. Throw std::bad_alloc.
unsigned usable_cores_under(const std::string& root);
std::optional<SystemMemory> system_memory_under(const std::string& root);

// The whole text of a file of /proc or of a control group, whose size stat() does not tell; empty if it can't
// be read. One open, read and close: the system writes the text anew for each. Throws std::bad_alloc.
std::string kernel_text(const std::string& path);

} // namespace sotto
