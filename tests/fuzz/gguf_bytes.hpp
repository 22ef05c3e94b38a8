// A GGUF file in memory, for fuzzers.
#pragma once

#include "file/source.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <gguf.h>

namespace sotto::fuzz {

// Reads `held` bytes at `data`, and zeros from there to `size`.
class Bytes final : public llama::Source {
public:
    Bytes(const std::uint8_t* data, std::size_t held, std::uint64_t size) : data_(data), held_(held) {
        size_ = size;
    }

    void read(std::uint64_t offset, void* out, std::size_t count) override {
        if (offset > size_ || count > size_ - offset) {
            std::abort(); // the check must not read past the end
        }
        std::memset(out, 0, count);
        if (offset < held_) {
            std::memcpy(out, data_ + offset, std::min<std::uint64_t>(count, held_ - offset));
        }
    }
    std::FILE* file() override { return nullptr; }
    bool mappable() const noexcept override { return false; }

private:
    const std::uint8_t* data_;
    std::size_t held_;
};

// ggml must neither refuse nor abort on what the check accepts.
inline void show(const std::uint8_t* data, std::size_t size) {
    ggml_context* tensors = nullptr;
    gguf_context* file = gguf_init_from_buffer(data, size, {.no_alloc = true, .ctx = &tensors});
    if (file == nullptr) {
        std::abort();
    }
    gguf_free(file);
    ggml_free(tensors);
}

} // namespace sotto::fuzz
