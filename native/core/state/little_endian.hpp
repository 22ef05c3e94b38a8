// Integers in the files of the core: little endian, on every processor.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sotto::little_endian {

// Appends the bytes of an unsigned integer.
template <typename T>
void put(std::string& out, T value) {
    for (std::size_t i = 0; i < sizeof value; ++i) {
        out += static_cast<char>(value >> 8 * i & 0xFF);
    }
}

// Reads an unsigned integer at the offset `at`, where `in` has at least sizeof(T) bytes.
template <typename T>
T get(std::string_view in, std::size_t at) {
    T value = 0;
    for (std::size_t i = 0; i < sizeof value; ++i) {
        value |= static_cast<T>(static_cast<unsigned char>(in[at + i])) << 8 * i;
    }
    return value;
}

} // namespace sotto::little_endian
