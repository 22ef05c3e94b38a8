#include "platform/memory.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "platform/cgroup.hpp"

namespace sotto {
namespace {

// Returns the value in kB of the line "NAME: VALUE kB" of a /proc file; 0 if there is no such line.
std::uint64_t kilobytes(const std::string& text, const std::string& name) {
    const auto at = text.find("\n" + name + ":");
    if (at == std::string::npos) {
        return 0;
    }
    const auto digits = std::min(text.find_first_not_of(" \t", at + name.size() + 2), text.size());
    std::uint64_t value = 0;
    std::from_chars(text.data() + digits, text.data() + text.size(), value);
    return value * 1024;
}

} // namespace

std::optional<SystemMemory> system_memory() {
    return system_memory_under({});
}

std::optional<SystemMemory> system_memory_under(const std::string& root) {
    const auto machine = "\n" + kernel_text(root + "/proc/meminfo");
    const auto process = "\n" + kernel_text(root + "/proc/self/status");
    SystemMemory memory;
    memory.total = kilobytes(machine, "MemTotal");
    memory.available = kilobytes(machine, "MemAvailable");
    memory.own = kilobytes(process, "RssAnon");
    memory.mapped = kilobytes(process, "RssFile") + kilobytes(process, "RssShmem");
    if (memory.total == 0) {
        return std::nullopt;
    }
    const auto group = cgroup_memory(root);
    memory.total = std::min(memory.total, group.limit.value_or(memory.total));
    memory.available = std::min({memory.available, memory.total, group.available.value_or(memory.total)});
    return memory;
}

} // namespace sotto
