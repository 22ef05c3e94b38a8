// A buffer for a saved KV cache, in pages mapped from the operating system. The destructor returns the pages
// to the system at once. Memory from malloc() can stay in the process after free(), and a game that limits
// the memory of its process would still count that memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sotto::llama {

class Pages {
public:
    // Bytes are initialized to 0. Throws std::bad_alloc.
    explicit Pages(std::size_t size);
    ~Pages();
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;

    std::uint8_t* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }

private:
    std::size_t size_;
    std::uint8_t* data_;
};

} // namespace sotto::llama
