#include "platform/memory.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

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

// A figure of the process' control group (version 2), or of one that it is in; nothing: it has no limit.
std::optional<std::uint64_t> figure_of(const std::string& path) {
    std::ifstream file(path);
    std::uint64_t value = 0;
    return file >> value ? std::optional(value) : std::nullopt;
}

// The tightest limit on the way up, and what is left of it.
void within_group(SystemMemory& memory) {
    const auto groups = content_of("/proc/self/cgroup");
    const auto at = groups.find("\n0::");
    if (at == std::string::npos) {
        return;
    }
    auto path = groups.substr(at + 4, groups.find('\n', at + 4) - at - 4);
    for (;;) {
        const auto folder = "/sys/fs/cgroup" + path;
        const auto most = figure_of(folder + "/memory.max");
        const auto taken = figure_of(folder + "/memory.current");
        if (most && *most < memory.total) {
            memory.total = *most;
        }
        if (most && taken) {
            memory.available = std::min(memory.available, *most - std::min(*most, *taken));
        }
        const auto slash = path.rfind('/');
        if (path.empty() || path == "/" || slash == std::string::npos) {
            return;
        }
        path.resize(slash);
    }
}

} // namespace

std::optional<SystemMemory> system_memory() {
    const auto machine = content_of("/proc/meminfo");
    const auto process = content_of("/proc/self/status");
    SystemMemory memory;
    memory.total = kilobytes(machine, "MemTotal");
    memory.available = kilobytes(machine, "MemAvailable");
    memory.own = kilobytes(process, "RssAnon");
    memory.mapped = kilobytes(process, "RssFile") + kilobytes(process, "RssShmem");
    if (memory.total == 0) {
        return std::nullopt;
    }
    within_group(memory);
    return memory;
}

} // namespace sotto
