// The fence between C callers and C++. Every exported function is one guarded() call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include <sotto/module.h>
#include <sotto/sotto.h>

#include "base/error.hpp"

namespace sotto::api {

// Keeps `message` for sotto_last_error() and hands `status` back. Never throws, never allocates.
sotto_status fail(sotto_status status, const char* message) noexcept;

// Runs `body` and turns whatever it throws into a status.
template <typename Body>
sotto_status guarded(Body&& body) noexcept {
    try {
        return body();
    } catch (const Error& error) {
        return fail(error.status(), error.what());
    } catch (const std::exception& error) {
        return fail(status_of(error), reason_of(error));
    } catch (...) {
        return fail(SOTTO_ERROR_INTERNAL, "an exception that is not a std::exception was thrown");
    }
}

// Throws if a pointer to data or to a function is NULL.
template <typename T>
void require(T* pointer, const char* name) {
    if (pointer == nullptr) {
        throw Error(SOTTO_ERROR_ARGUMENT, "missing " + std::string(name) + ": expected a pointer, not NULL");
    }
}

// What `pointer` points at. Throws on NULL.
template <typename T>
T& deref(T* pointer, const char* name) {
    require(pointer, name);
    return *pointer;
}

// The size a caller's struct says it has. Throws if it cannot be one.
template <typename T>
std::size_t caller_size(const T* theirs, const char* name) {
    constexpr std::size_t kLargest = 4096; // no struct will ever be; so nobody reads far beyond a caller's
    const std::size_t size = deref(theirs, name).struct_size;
    if (size < sizeof(theirs->struct_size) || size > kLargest) {
        throw invalid_argument(
            std::string(name) + "->struct_size", std::to_string(size), "sizeof the struct"
        );
    }
    return size;
}

// Reads a caller's struct as today's T, whatever header the caller was built with.
// An older one is shorter: what it lacks stays zero, which is every field's default.
// A newer one is longer: fine, while what we do not know of is zero.
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
        if (ours.reserved != 0) { // may be a field one day, so nobody may put anything in it now
            throw Error(
                SOTTO_ERROR_UNSUPPORTED,
                invalid(std::string(name) + "->reserved", std::to_string(ours.reserved), "0")
            );
        }
    }
    return ours;
}

// Writes `ours` into as much struct as the caller has room for.
template <typename T>
void write(T* theirs, T ours, std::size_t size) noexcept {
    ours.struct_size = static_cast<std::uint32_t>(size);
    std::memcpy(theirs, &ours, std::min(size, sizeof(T)));
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
    return text.size == SOTTO_NUL ? std::string_view(text.data) : std::string_view(text.data, text.size);
}

// A pace that a host may ask for. Throws for one that is none.
float checked_tps(float tps, const char* name);

// As view(), for text that must be whole UTF-8.
std::string_view utf8(sotto_str text, const char* name);

inline sotto_str str(std::string_view text) noexcept {
    return {text.data(), text.size()};
}

// Keeps `json` for the calling thread and returns it. Throws std::bad_alloc.
sotto_str lend(std::string json);

} // namespace sotto::api
