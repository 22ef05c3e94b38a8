// A file that is read at offsets.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sotto::gguf {

class Source {
public:
    virtual ~Source() = default;
    std::uint64_t size() const noexcept { return size_; }
    // Reads exactly `count` bytes at `offset`, or throws.
    virtual void read(std::uint64_t offset, void* out, std::size_t count) = 0;

protected:
    std::uint64_t size_ = 0;
};

} // namespace sotto::gguf
