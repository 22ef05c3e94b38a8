// Reads a GGUF header sequentially, and validates all lengths in it.
#pragma once

#include "gguf/source.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace sotto::gguf {

class Reader {
public:
    explicit Reader(Source& source) : source_(source) {}

    // All functions that read throw Error(SOTTO_ERROR_MODEL) at the end of the file.
    template <typename T>
    T number() {
        T value{};
        bytes(&value, sizeof value);
        return value;
    }
    std::string text(std::uint64_t most);
    std::string text_of(std::uint64_t size); // reads a string whose size was read before
    void skip(std::uint64_t count);

    std::uint64_t position() const noexcept { return position_; }
    std::uint64_t size() const noexcept { return source_.size(); }
    std::uint64_t left() const noexcept { return source_.size() - position_; }

private:
    void bytes(void* out, std::size_t count);
    void fill();

    Source& source_;
    std::uint64_t position_ = 0;
    std::uint64_t buffered_from_ = 0;
    std::vector<char> buffer_;
};

} // namespace sotto::gguf
