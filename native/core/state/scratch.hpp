// An unnamed temporary file that holds many extents. One file descriptor serves all extents, and the system
// removes the file when the process ends, also after a crash.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include "platform/file.hpp"

namespace sotto {

// File thread only.
class Scratch {
public:
    struct Extent {
        std::uint64_t offset = 0;
        std::uint64_t size = 0; // bytes; 0: no extent
    };

    // The file is created by the first write. Empty `folder`: writing fails.
    explicit Scratch(std::filesystem::path folder) : folder_(std::move(folder)) {}
    bool has_folder() const noexcept { return !folder_.empty(); } // any thread

    // write() and read() wait for the disk. On failure, write() leaves `extent` unchanged.
    std::error_code write(std::string_view bytes, Extent& extent);
    std::error_code read(const Extent& extent, char* out) const {
        return file_.read(extent.offset, out, extent.size);
    }
    // Frees an extent: returns its blocks to the file system and reuses the space.
    void free(const Extent& extent);

private:
    std::error_code open();
    std::uint64_t take(std::uint64_t size);

    const std::filesystem::path folder_;
    File file_;
    std::map<std::uint64_t, std::uint64_t> free_; // sizes by offset; adjacent holes are merged
    std::uint64_t end_ = 0;                       // end of the used part of the file
};

} // namespace sotto
