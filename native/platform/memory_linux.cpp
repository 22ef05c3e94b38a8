#include "platform/memory.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include "platform/cgroup.hpp"

namespace sotto {
namespace {

// The figure in kilobytes that stands behind `name` in a file of lines as /proc has them; 0: none does.
std::uint64_t kilobytes(const std::string& text, const std::string& name) {
    const auto at = text.find("\n" + name + ":");
    if (at == std::string::npos) {
        return 0;
    }
    std::istringstream figure(text.substr(at + name.size() + 2));
    std::uint64_t value = 0;
    figure >> value;
    return value * 1024;
}

std::string content_of(const std::string& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << '\n' << file.rdbuf();
    return text.str();
}

} // namespace

std::optional<SystemMemory> system_memory() {
    return system_memory_under({});
}

std::optional<SystemMemory> system_memory_under(const std::string& root) {
    const auto machine = content_of(root + "/proc/meminfo");
    const auto process = content_of(root + "/proc/self/status");
    SystemMemory memory;
    memory.total = kilobytes(machine, "MemTotal");
    memory.available = kilobytes(machine, "MemAvailable");
    memory.own = kilobytes(process, "RssAnon");
    memory.mapped = kilobytes(process, "RssFile") + kilobytes(process, "RssShmem");
    if (memory.total == 0) {
        return std::nullopt;
    }
    const auto limits = cgroup_limits(root);
    memory.total = std::min(memory.total, limits.memory.value_or(memory.total));
    memory.available =
        std::min({memory.available, memory.total, limits.memory_available.value_or(memory.total)});
    return memory;
}

} // namespace sotto
