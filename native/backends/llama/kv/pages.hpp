// A buffer for a state as llama.cpp writes and reads it, in pages from the system that go back to it at once:
// malloc() would keep what is freed, and a game that grants memory would look for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sotto::llama {

class Pages {
public:
    // Throws std::bad_alloc. The bytes are 0.
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
