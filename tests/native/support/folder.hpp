// A temporary folder.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <unistd.h>

namespace test {

class Folder {
public:
    Folder()
        : path_(
              std::filesystem::temp_directory_path() /
              ("sotto_test_" + std::to_string(getpid()) + "_" + std::to_string(++made))
          ) {
        std::filesystem::remove_all(path_);
        std::filesystem::create_directories(path_);
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    const std::filesystem::path& path() const noexcept { return path_; }
    std::string text() const { return path_.string(); }
    std::vector<std::filesystem::path> files() const {
        std::vector<std::filesystem::path> all;
        for (const auto& entry : std::filesystem::directory_iterator(path_)) {
            all.push_back(entry.path());
        }
        return all;
    }

private:
    static inline int made = 0;
    std::filesystem::path path_;
};

} // namespace test
