// Helpers for functions behind the C ABI: catching exceptions, viewing strings, and
// writing structs of the caller's size.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string_view>

#include <sotto/base.h>

#include "abi/error.hpp"

namespace sotto::abi {

// Status and text for an exception that is not an Error.
struct Cause {
    sotto_status status;
    const char* text;
};

// Runs `body` and returns its status. If `body` throws, returns fail(status,
// text); `cause` converts a std::exception that is not an Error into a Cause.
// Neither `fail` nor `cause` may throw.
template <typename Body, typename OnException, typename Fail>
sotto_status guarded(Body&& body, OnException&& cause, Fail&& fail) noexcept {
    try {
        return body();
    } catch (const Error& error) {
        return fail(error.status(), error.what());
    } catch (const std::exception& error) {
        const Cause found = cause(error);
        return fail(found.status, found.text);
    } catch (...) {
        return fail(SOTTO_ERROR_INTERNAL, "an exception that is not a std::exception was thrown");
    }
}

// Returns a view of `text` without validating it. A NULL data pointer gives an
// empty view, whatever the size.
inline std::string_view view(sotto_str text) noexcept {
    if (text.data == nullptr) {
        return {};
    }
    return {text.data, text.size == SOTTO_NUL ? std::strlen(text.data) : text.size};
}

inline sotto_str str(std::string_view text) noexcept {
    return {text.data(), text.size()};
}

// Copies `ours` to `theirs`, truncated to `size`: the bytes of the struct that the caller
// knows. Sets struct_size to `size`.
template <typename T>
void write(T* theirs, T ours, std::size_t size) noexcept {
    ours.struct_size = static_cast<std::uint32_t>(size);
    std::memcpy(theirs, &ours, std::min(size, sizeof(T)));
}

} // namespace sotto::abi
