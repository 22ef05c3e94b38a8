#include "platform/cgroup.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <sstream>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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

// Parses a number after blanks; returns nothing for "max" and -1.
std::optional<std::uint64_t> number(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\n"), text.size()));
    std::int64_t value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    return read.ec == std::errc() && value >= 0 ? std::optional(static_cast<std::uint64_t>(value))
                                                : std::nullopt;
}

std::optional<std::uint64_t> number_in(const std::string& path) {
    return number(kernel_text(path));
}

// Returns the value of the line "NAME NUMBER" of memory.stat; 0 if there is no such line.
std::uint64_t line_in(const std::string& path, const std::string& name) {
    const auto text = "\n" + kernel_text(path);
    const auto key = "\n" + name + " ";
    const auto at = text.find(key);
    return at == std::string::npos ? 0 : number(std::string_view(text).substr(at + key.size())).value_or(0);
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

// Decodes octal escapes: mountinfo writes a blank in a path as \040.
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

// A mounted control group hierarchy.
struct Mount {
    std::string root;  // group at the root of the mount
    std::string point; // mount point
};

// The control groups of this process.
class Groups {
public:
    explicit Groups(const std::string& root)
        : root_(root), mounts_(kernel_text(root + "/proc/self/mountinfo")),
          groups_(kernel_text(root + "/proc/self/cgroup")) {}

    // Returns the folders of the process's group and its ancestors, as far as they are mounted. `controller`:
    // a v1 controller; empty: v2.
    std::vector<std::string> folders(std::string_view controller) const {
        const auto mount = find_mount(controller);
        auto group = find_group(controller);
        if (!mount || !group) {
            return {};
        }
        // A container without a cgroup namespace mounts a subgroup of the hierarchy: makes the path of the
        // group relative to that subgroup
        if (mount->root != "/" && group->rfind(mount->root, 0) == 0) {
            group->erase(0, mount->root.size());
        }
        const auto top = root_ + mount->point;
        if (group->find("/..") != std::string::npos || !is_folder(top + *group)) {
            group->clear(); // the group is outside of the mount
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

private:
    std::optional<Mount> find_mount(std::string_view controller) const {
        std::istringstream lines(mounts_);
        std::optional<Mount> found;
        for (std::string line; std::getline(lines, line);) {
            const auto dash = line.find(" - cgroup");
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

    // Returns the path of the process's group in the hierarchy of `controller`.
    std::optional<std::string> find_group(std::string_view controller) const {
        std::istringstream lines(groups_);
        for (std::string line; std::getline(lines, line);) {
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

    std::string root_;
    std::string mounts_;
    std::string groups_;
};

constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 60; // v1 reports 2^63 less one page for "no limit"

struct MemoryFiles {
    std::vector<const char*> limits;
    const char* usage;
    const char* cache; // key in memory.stat: file pages that the kernel reclaims first
};

void read_memory(const std::vector<std::string>& folders, const MemoryFiles& files, CgroupMemory& memory) {
    for (const auto& folder : folders) {
        std::optional<std::uint64_t> limit;
        for (const char* name : files.limits) {
            if (const auto one = number_in(folder + name)) {
                lower(limit, *one);
            }
        }
        if (limit.value_or(kNoLimit) >= kNoLimit) {
            continue;
        }
        lower(memory.limit, *limit);
        if (const auto usage = number_in(folder + files.usage)) {
            const auto used = *usage - std::min(*usage, line_in(folder + "/memory.stat", files.cache));
            lower(memory.available, *limit - std::min(*limit, used));
        }
    }
}

void lower_cores(
    std::optional<double>& cores, std::optional<std::uint64_t> quota, std::optional<std::uint64_t> period
) {
    if (quota && *quota > 0 && period && *period > 0) {
        lower(cores, static_cast<double>(*quota) / static_cast<double>(*period));
    }
}

} // namespace

std::string kernel_text(const std::string& path) {
    std::string text;
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return text;
    }
    constexpr std::size_t kPiece = 8192;
    std::size_t size = 0;
    for (ssize_t count = 1; count > 0;) {
        text.resize(size + kPiece);
        do {
            count = read(file, text.data() + size, kPiece);
        } while (count < 0 && errno == EINTR);
        size += static_cast<std::size_t>(std::max<ssize_t>(count, 0));
    }
    close(file);
    text.resize(size);
    return text;
}

CgroupMemory cgroup_memory(const std::string& root) {
    const Groups groups(root);
    CgroupMemory memory;
    read_memory(
        groups.folders(""), {{"/memory.max", "/memory.high"}, "/memory.current", "inactive_file"}, memory
    );
    read_memory(
        groups.folders("memory"),
        {{"/memory.limit_in_bytes"}, "/memory.usage_in_bytes", "total_inactive_file"},
        memory
    );
    return memory;
}

std::optional<double> cgroup_cores(const std::string& root) {
    const Groups groups(root);
    std::optional<double> cores;
    for (const auto& folder : groups.folders("")) {
        const auto text = kernel_text(folder + "/cpu.max"); // "QUOTA PERIOD", or "max PERIOD"
        const auto blank = std::min(text.find(' '), text.size());
        lower_cores(cores, number(text), number(std::string_view(text).substr(blank)));
    }
    for (const auto& folder : groups.folders("cpu")) {
        lower_cores(cores, number_in(folder + "/cpu.cfs_quota_us"), number_in(folder + "/cpu.cfs_period_us"));
    }
    return cores;
}

} // namespace sotto
