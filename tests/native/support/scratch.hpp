// The scratch files of a folder, which have no name: by their descriptors.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace test {

// Paths that they can be opened by, as long as this process has them open.
inline std::vector<std::filesystem::path> scratch_files(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> all;
    const auto begin = (folder / "").string();
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone; // the iterator's own
        if (std::filesystem::read_symlink(entry.path(), gone).string().starts_with(begin)) {
            all.push_back(entry.path());
        }
    }
    return all;
}

} // namespace test
