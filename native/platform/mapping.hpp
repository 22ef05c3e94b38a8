// Files that are read through memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <system_error>
#include <utility>

#include "platform/file.hpp"

namespace sotto {

// A whole file, mapped for reading; unmapped by the destructor. The mapping outlives the File. A file that is
// replaced by replace_file() or removed keeps its bytes for the mapping. Windows refuses to truncate a mapped
// file; on Linux, reading bytes that were truncated away raises SIGBUS.
class Mapping {
public:
    Mapping() noexcept = default;
    // On failure, sets `error`, and the mapping is empty.
    Mapping(const File& file, std::error_code& error) noexcept;
    ~Mapping();
    Mapping(Mapping&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    Mapping& operator=(Mapping&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }

    const std::byte* data() const noexcept { return data_; } // at a page's start; null if empty
    std::size_t size() const noexcept { return size_; }

private:
    const std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

} // namespace sotto
