// Finds the unnamed scratch files of a folder by this process's file descriptors.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace test {

// Paths by which the files can be opened while this process has them open.
inline std::vector<std::filesystem::path> scratch_files(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> all;
    const auto begin = (folder / "").string();
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone; // for the iterator's own descriptor
        if (std::filesystem::read_symlink(entry.path(), gone).string().starts_with(begin)) {
            all.push_back(entry.path());
        }
    }
    return all;
}

} // namespace test
