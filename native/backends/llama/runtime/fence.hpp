// The module's C boundary: converts exceptions to statuses, and reads structs by their size.
#pragma once

#include "abi/call.hpp"
#include "runtime/one_line.hpp"
#include "json/utf8_cut.hpp"

#include <sotto/module.h>

#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>

namespace sotto::llama {

using abi::str;
using abi::view;

// An exception with a status and a message of one line.
class Error : public sotto::Error {
public:
    Error(sotto_status status, const std::string& message) : sotto::Error(status, one_line(message)) {}
};

inline Error invalid_argument(std::string_view name, std::string_view value, std::string_view expected) {
    return Error(SOTTO_ERROR_ARGUMENT, invalid(name, value, expected));
}

// A text of limited size that allocates nothing and has no destructor.
struct FixedText {
    char bytes[320];
    std::size_t size;

    void operator=(std::string_view text) noexcept {
        size = utf8_cut(text, sizeof bytes).size();
        std::memcpy(bytes, text.data(), size);
    }
    void clear() noexcept { size = 0; }
    operator std::string_view() const noexcept { return {bytes, size}; }
};

// Copies `message` as one line to `kept`; `why`, if not null, then refers to that copy. Returns `status`.
template <typename Kept>
sotto_status fail(sotto_status status, const char* message, Kept& kept, sotto_str* why) noexcept {
    try {
        kept = one_line(message);
    } catch (...) {
        kept.clear();
    }
    if (why != nullptr) {
        *why = str(kept);
    }
    return status;
}

// Returns true if memory ran out. llama.cpp sometimes wraps the exception's text in another exception.
inline bool is_out_of_memory(const std::exception& error) noexcept {
    return dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
           std::string_view(error.what()).find("bad_alloc") != std::string_view::npos;
}

// Throws std::bad_alloc if `error` means that memory ran out. Call it in a catch clause that would otherwise
// convert or ignore the exception.
inline void throw_if_out_of_memory(const std::exception& error) {
    if (is_out_of_memory(error)) {
        throw std::bad_alloc();
    }
}

// Runs `body` and converts any exception into a status and a text.
template <typename Kept, typename Body>
sotto_status guarded(Kept& kept, sotto_str* why, Body&& body) noexcept {
    const auto cause = [](const std::exception& error) noexcept {
        return is_out_of_memory(error) ? abi::Cause{SOTTO_ERROR_MEMORY, "out of host memory"}
                                       : abi::Cause{SOTTO_ERROR_INTERNAL, error.what()};
    };
    return abi::guarded(body, cause, [&](sotto_status status, const char* message) noexcept {
        return fail(status, message, kept, why);
    });
}

// Writes as much of `ours` as the caller's struct has room for.
template <typename T>
void write(T* theirs, T ours) noexcept {
    abi::write(theirs, ours, theirs->struct_size);
}

} // namespace sotto::llama
