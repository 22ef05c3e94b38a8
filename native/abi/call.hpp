// What every function behind the C ABI does: ends exceptions, views texts, writes structs by their size.
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

// The status and the text of an exception that is not an Error.
struct Cause {
    sotto_status status;
    const char* text;
};

// Runs `body` and returns its status. If `body` throws, returns fail(status, text); `cause` turns a
// std::exception that is not an Error into a Cause. Neither `fail` nor `cause` may throw.
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

// The bytes of `text`, which is trusted: NULL is the empty text, whatever its size.
inline std::string_view view(sotto_str text) noexcept {
    if (text.data == nullptr) {
        return {};
    }
    return {text.data, text.size == SOTTO_NUL ? std::strlen(text.data) : text.size};
}

inline sotto_str str(std::string_view text) noexcept {
    return {text.data(), text.size()};
}

// Writes `ours` into as much struct as the caller has room for: `size` bytes.
template <typename T>
void write(T* theirs, T ours, std::size_t size) noexcept {
    ours.struct_size = static_cast<std::uint32_t>(size);
    std::memcpy(theirs, &ours, std::min(size, sizeof(T)));
}

} // namespace sotto::abi
