#include "platform/cgroup.hpp"

#include <algorithm>
#include <fstream>
#include <functional>
#include <sstream>
#include <string_view>
#include <vector>

#include <sys/stat.h>

namespace sotto {
namespace {

template <typename T>
void lower(std::optional<T>& lowest, T value) {
    lowest = lowest ? std::min(*lowest, value) : value;
}

bool is_folder(const std::string& path) {
    struct stat found{};
    return stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

// The first number of a file; nothing for "max", for -1, and where there is no such file.
std::optional<std::uint64_t> number_in(const std::string& path) {
    std::ifstream file(path);
    std::int64_t value = 0;
    return file >> value && value >= 0 ? std::optional(static_cast<std::uint64_t>(value)) : std::nullopt;
}

// A line "NAME NUMBER" of memory.stat.
std::uint64_t line_in(const std::string& path, std::string_view name) {
    std::ifstream file(path);
    std::string key;
    std::uint64_t value = 0;
    while (file >> key >> value) {
        if (key == name) {
            return value;
        }
    }
    return 0;
}

bool contains(std::string_view list, std::string_view word) {
    std::istringstream words{std::string(list)};
    for (std::string one; std::getline(words, one, ',');) {
        if (one == word) {
            return true;
        }
    }
    return false;
}

// mountinfo writes blanks in paths as \040.
std::string unescaped(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto octal = [&](std::size_t at) {
            return at < text.size() && text[at] >= '0' && text[at] <= '7';
        };
        if (text[i] == '\\' && octal(i + 1) && octal(i + 2) && octal(i + 3)) {
            const int code = (text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0');
            out += static_cast<char>(code);
            i += 3;
        } else {
            out += text[i];
        }
    }
    return out;
}

// A mounted hierarchy.
struct Mount {
    std::string root;  // the group that is mounted
    std::string point; // where
};

// `controller`: of version 1; "": version 2.
std::optional<Mount> find_mount(const std::string& root, std::string_view controller) {
    std::ifstream file(root + "/proc/self/mountinfo");
    std::optional<Mount> found;
    for (std::string line; std::getline(file, line);) {
        const auto dash = line.find(" - ");
        if (dash == std::string::npos) {
            continue;
        }
        std::istringstream left(line.substr(0, dash));
        std::istringstream right(line.substr(dash + 3));
        std::string id, parent, device, group, point, type, source, options;
        left >> id >> parent >> device >> group >> point;
        right >> type >> source >> options;
        const bool is_one =
            controller.empty() ? type == "cgroup2" : type == "cgroup" && contains(options, controller);
        if (is_one && !point.empty() && (!found || group.size() < found->root.size())) {
            found = Mount{unescaped(group), unescaped(point)};
        }
    }
    return found;
}

// The path of the process' group in that hierarchy.
std::optional<std::string> find_group(const std::string& root, std::string_view controller) {
    std::ifstream file(root + "/proc/self/cgroup");
    for (std::string line; std::getline(file, line);) {
        const auto first = line.find(':');
        const auto second = first != std::string::npos ? line.find(':', first + 1) : std::string::npos;
        if (second == std::string::npos) {
            continue;
        }
        const auto controllers = line.substr(first + 1, second - first - 1);
        if (controller.empty() ? controllers.empty() : contains(controllers, controller)) {
            return line.substr(second + 1);
        }
    }
    return std::nullopt;
}

// The folders of the process' group and of its ancestors, as far as they are mounted.
std::vector<std::string> groups_of(const std::string& root, std::string_view controller) {
    const auto mount = find_mount(root, controller);
    auto group = find_group(root, controller);
    if (!mount || !group) {
        return {};
    }
    if (mount->root != "/" && group->rfind(mount->root, 0) == 0) { // a container without a cgroup namespace
        group->erase(0, mount->root.size());
    }
    const auto top = root + mount->point;
    if (group->find("/..") != std::string::npos || !is_folder(top + *group)) {
        group->clear(); // it is outside of what is mounted
    }
    std::vector<std::string> folders;
    for (auto path = *group; !path.empty() && path != "/"; path.resize(path.rfind('/'))) {
        folders.push_back(top + path);
        if (path.rfind('/') == std::string::npos) {
            break;
        }
    }
    folders.push_back(top);
    return folders;
}

struct MemoryFiles {
    const char* controller;
    std::vector<const char*> limits;
    const char* usage;
    const char* cache; // in memory.stat: file pages that the kernel drops first
};

void read_memory(const std::string& root, const MemoryFiles& files, CgroupLimits& limits) {
    for (const auto& folder : groups_of(root, files.controller)) {
        std::optional<std::uint64_t> limit;
        for (const char* name : files.limits) {
            if (const auto one = number_in(folder + name)) {
                lower(limit, *one);
            }
        }
        if (!limit) {
            continue;
        }
        lower(limits.memory, *limit);
        if (const auto usage = number_in(folder + files.usage)) {
            const auto used = *usage - std::min(*usage, line_in(folder + "/memory.stat", files.cache));
            lower(limits.memory_available, *limit - std::min(*limit, used));
        }
    }
}

void lower_cores(
    CgroupLimits& limits, std::optional<std::uint64_t> quota, std::optional<std::uint64_t> period
) {
    if (quota && *quota > 0 && period && *period > 0) {
        lower(limits.cores, static_cast<double>(*quota) / static_cast<double>(*period));
    }
}

void read_cores(const std::string& root, CgroupLimits& limits) {
    for (const auto& folder : groups_of(root, "")) {
        std::ifstream file(folder + "/cpu.max");
        std::uint64_t quota = 0;
        std::uint64_t period = 0;
        if (file >> quota >> period) { // "max 100000" is no number
            lower_cores(limits, quota, period);
        }
    }
    for (const auto& folder : groups_of(root, "cpu")) {
        lower_cores(
            limits, number_in(folder + "/cpu.cfs_quota_us"), number_in(folder + "/cpu.cfs_period_us")
        );
    }
}

} // namespace

CgroupLimits cgroup_limits(const std::string& root) {
    CgroupLimits limits;
    read_memory(root, {"", {"/memory.max", "/memory.high"}, "/memory.current", "inactive_file"}, limits);
    read_memory(
        root, {"memory", {"/memory.limit_in_bytes"}, "/memory.usage_in_bytes", "total_inactive_file"}, limits
    );
    read_cores(root, limits);
    return limits;
}

} // namespace sotto
