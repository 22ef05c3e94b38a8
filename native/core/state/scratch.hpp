// One file without a name that holds many pieces of bytes: it is gone with the process, however that ends,
// and takes one descriptor, however many pieces there are.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include "platform/file.hpp"

namespace sotto {

// The file worker's alone.
class Scratch {
public:
    struct Extent {
        std::uint64_t offset = 0;
        std::uint64_t size = 0; // bytes; 0: none
    };

    // The file is made when something is written. Empty: there is no folder, and writing fails.
    explicit Scratch(std::filesystem::path folder) : folder_(std::move(folder)) {}
    bool has_folder() const noexcept { return !folder_.empty(); } // any thread

    // These wait for the disk. An extent that is not written stays as it was.
    std::error_code write(std::string_view bytes, Extent& extent);
    std::error_code read(const Extent& extent, char* out) const {
        return file_.read(extent.offset, out, extent.size);
    }
    // Gives the space back to the disk, and to what is written next.
    void free(const Extent& extent);

private:
    std::error_code open();
    std::uint64_t take(std::uint64_t size);

    const std::filesystem::path folder_;
    File file_;
    std::map<std::uint64_t, std::uint64_t> free_; // sizes by offset; no two touch
    std::uint64_t end_ = 0;                       // of what is taken
};

} // namespace sotto
