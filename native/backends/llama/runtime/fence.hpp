// The module's C boundary: converts exceptions to statuses, and reads structs by their size.
#pragma once

#include "runtime/one_line.hpp"
#include "json/utf8_cut.hpp"

#include <sotto/module.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

namespace sotto::llama {

// An exception with a status.
class Error : public std::runtime_error {
public:
    Error(sotto_status status, const std::string& message)
        : std::runtime_error(one_line(message)), status_(status) {}
    sotto_status status() const noexcept { return status_; }

private:
    sotto_status status_;
};

// Text of every error about an argument: "invalid NAME 'VALUE': expected EXPECTED". Duplicates
// base/error.hpp, which modules do not include.
inline std::string invalid(std::string_view name, std::string_view value, std::string_view expected) {
    std::string text("invalid ");
    text.append(name).append(" '").append(value).append("': expected ").append(expected);
    return text;
}
inline Error invalid_argument(std::string_view name, std::string_view value, std::string_view expected) {
    return Error(SOTTO_ERROR_ARGUMENT, invalid(name, value, expected));
}

inline std::string_view view(sotto_str text) {
    if (text.data == nullptr) {
        return {};
    }
    return {text.data, text.size == SOTTO_NUL ? std::strlen(text.data) : text.size};
}

inline sotto_str str(std::string_view text) noexcept {
    return {text.data(), text.size()};
}

// A text of limited size without a destructor, so that it can be thread_local.
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

// Copies `message` as one line to `kept`; `why` then refers to that copy.
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

// For a catch clause that converts or ignores an exception.
inline void throw_if_out_of_memory(const std::exception& error) {
    if (is_out_of_memory(error)) {
        throw std::bad_alloc();
    }
}

// Runs `body` and converts any exception into a status and a text.
template <typename Kept, typename Body>
sotto_status guarded(Kept& kept, sotto_str* why, Body&& body) noexcept {
    try {
        return body();
    } catch (const Error& error) {
        return fail(error.status(), error.what(), kept, why);
    } catch (const std::exception& error) {
        if (is_out_of_memory(error)) {
            return fail(SOTTO_ERROR_MEMORY, "out of host memory", kept, why);
        }
        return fail(SOTTO_ERROR_INTERNAL, error.what(), kept, why);
    } catch (...) {
        return fail(SOTTO_ERROR_INTERNAL, "an exception that is not a std::exception was thrown", kept, why);
    }
}

// Writes as much of `ours` as the caller's struct has room for.
template <typename T>
void write(T* theirs, T ours) noexcept {
    ours.struct_size = theirs->struct_size;
    std::memcpy(theirs, &ours, std::min<std::size_t>(theirs->struct_size, sizeof(T)));
}

} // namespace sotto::llama
