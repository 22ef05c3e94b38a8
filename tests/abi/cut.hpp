// Structs as other headers than today's have them, for old_caller.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <sotto/sotto.h>

inline int g_passed = 0;
inline int g_failed = 0;

inline void expect(bool holds, const std::string& what) {
    (holds ? g_passed : g_failed) += 1;
    if (!holds) {
        const sotto_str why = sotto_last_error();
        std::printf("FAILED %s (%.*s)\n", what.c_str(), static_cast<int>(why.size), why.data);
    }
}

inline sotto_str str(const char* text) {
    return {text, SOTTO_NUL};
}

// A struct as another header would have it: the first `size` bytes of `full`, and zeroes after those.
template <typename T>
class Cut {
public:
    Cut(const T& full, std::uint32_t size)
        : size_(size), bytes_(static_cast<unsigned char*>(std::calloc(1, size))) {
        std::memcpy(bytes_, &full, std::min<std::size_t>(size, sizeof full));
        std::memcpy(bytes_, &size, sizeof size);
    }
    Cut(const Cut&) = delete;
    Cut& operator=(const Cut&) = delete;
    ~Cut() { std::free(bytes_); }

    T* get() const { return reinterpret_cast<T*>(bytes_); }
    unsigned char& last_byte() const { return bytes_[size_ - 1]; }
    void claim(std::uint32_t size) const { std::memcpy(bytes_, &size, sizeof size); }

private:
    std::uint32_t size_;
    unsigned char* bytes_;
};

// Hands `call` the struct in every size it may have had. What is shorter than `least` lacks a required field.
template <typename T, std::size_t N, typename Call>
void every_size(
    const char* name, const T& full, const std::uint32_t (&sizes)[N], std::size_t least, Call call
) {
    const std::string of = std::string(name) + " of ";
    for (const std::uint32_t size : sizes) {
        const sotto_status wanted = size < least ? SOTTO_ERROR_ARGUMENT : SOTTO_OK;
        expect(call(Cut<T>(full, size).get()) == wanted, of + std::to_string(size));
    }
    const Cut<T> newer(full, sizeof(T) + 40);
    expect(call(newer.get()) == SOTTO_OK, of + "a later header, that uses nothing new");
    newer.last_byte() = 1;
    expect(call(newer.get()) == SOTTO_ERROR_UNSUPPORTED, of + "a later header, that uses something new");
    for (const std::uint32_t size : {0u, 3u}) {
        const Cut<T> unset(full, sizeof(T));
        unset.claim(size);
        expect(call(unset.get()) == SOTTO_ERROR_ARGUMENT, of + std::to_string(size));
    }
    if constexpr (requires { full.reserved; }) {
        T used = full;
        used.reserved = 1;
        expect(call(Cut<T>(used, sizeof(T)).get()) == SOTTO_ERROR_UNSUPPORTED, of + "reserved 1");
    }
}
