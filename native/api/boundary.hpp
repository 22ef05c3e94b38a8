// The boundary between C callers and C++. Every exported function is one guarded() call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>

#include <sotto/module.h>
#include <sotto/sotto.h>

#include "abi/call.hpp"
#include "base/error.hpp"

namespace sotto::api {

using abi::str;
using abi::write;

// Stores `message` for sotto_last_error() and returns `status`. Never throws, never allocates.
sotto_status fail(sotto_status status, const char* message) noexcept;

// Runs `body` and converts any exception into a status.
template <typename Body>
sotto_status guarded(Body&& body) noexcept {
    const auto cause = [](const std::exception& error) noexcept {
        return abi::Cause{status_of(error), reason_of(error)};
    };
    return abi::guarded(body, cause, fail);
}

// Throws if a pointer to data or to a function is NULL.
template <typename T>
void require(T* pointer, const char* name) {
    if (pointer == nullptr) {
        throw Error(SOTTO_ERROR_ARGUMENT, "missing " + std::string(name) + ": expected a pointer, not NULL");
    }
}

// Dereferences `pointer`. Throws if it is NULL.
template <typename T>
T& deref(T* pointer, const char* name) {
    require(pointer, name);
    return *pointer;
}

// Returns the struct_size that the caller has set. Throws if it is out of range.
template <typename T>
std::size_t caller_size(const T* theirs, const char* name) {
    // larger than any struct of the API: bounds how far a caller's memory is read
    constexpr std::size_t kLargest = 4096;
    const std::size_t size = deref(theirs, name).struct_size;
    if (size < sizeof(theirs->struct_size) || size > kLargest) {
        throw invalid_argument(
            std::string(name) + "->struct_size", std::to_string(size), "sizeof the struct"
        );
    }
    return size;
}

// Reads a caller's struct into the current T, whatever header version the caller was compiled with.
// Older struct: shorter; the missing fields stay zero, which is every field's default.
// Newer struct: longer; accepted if all bytes beyond the current T are zero.
template <typename T>
T read(const T* theirs, const char* name) {
    const std::size_t size = caller_size(theirs, name);
    const auto* bytes = reinterpret_cast<const std::byte*>(theirs);
    if (size > sizeof(T) &&
        std::any_of(bytes + sizeof(T), bytes + size, [](std::byte b) { return b != std::byte{0}; })) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            invalid(
                std::string(name) + "->struct_size",
                std::to_string(size),
                "at most " + std::to_string(sizeof(T)) + ", or zeros in newer fields; update the library"
            )
        );
    }
    T ours{};
    std::memcpy(&ours, bytes, std::min(size, sizeof(T)));
    if constexpr (requires { ours.reserved; }) {
        if (ours.reserved != 0) { // must be zero, so that a later version can use it as a field
            throw Error(
                SOTTO_ERROR_UNSUPPORTED,
                invalid(std::string(name) + "->reserved", std::to_string(ours.reserved), "0")
            );
        }
    }
    return ours;
}

inline std::string_view view(sotto_str text, const char* name) {
    if (text.data == nullptr && text.size != 0) {
        throw Error(
            SOTTO_ERROR_ARGUMENT,
            "missing " + std::string(name) + "->data: expected a pointer, not NULL, unless the size is 0"
        );
    }
    constexpr std::size_t kMaxText = std::size_t{1} << 32;
    if (text.size > kMaxText && text.size != SOTTO_NUL) {
        throw Error(
            SOTTO_ERROR_ARGUMENT,
            "invalid " + std::string(name) + "->size '" + std::to_string(text.size) + "': expected at most " +
                std::to_string(kMaxText) + " bytes; pass SOTTO_NUL for a text that ends with a NUL"
        );
    }
    return abi::view(text);
}

// Returns `tps`, a pace in tokens per second. Throws if it is not a valid pace.
float checked_tps(float tps, const char* name);

// Like view(), but throws if `text` is not valid UTF-8.
std::string_view utf8(sotto_str text, const char* name);

// Stores `json` in memory lent to the calling thread and returns a view of it. Throws std::bad_alloc.
sotto_str lend(std::string json);

} // namespace sotto::api
