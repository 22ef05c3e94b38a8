// Reads a GGUF header sequentially, and validates all lengths in it.
#include "gguf/reader.hpp"

#include "abi/error.hpp"

#include <algorithm>
#include <cstring>

namespace sotto::gguf {
namespace {

constexpr std::uint64_t kBufferBytes = 256 * 1024;

[[noreturn]] void too_short(std::uint64_t position, std::uint64_t wanted) {
    throw Error(
        SOTTO_ERROR_MODEL,
        "the file ends within its header at byte " + std::to_string(position) + ": expected " +
            std::to_string(wanted) + " more bytes; copy the file again"
    );
}

} // namespace

std::string Reader::text(std::uint64_t max) {
    const auto size = number<std::uint64_t>();
    if (size > max) {
        throw Error(
            SOTTO_ERROR_MODEL,
            "invalid string of " + std::to_string(size) + " bytes at byte " + std::to_string(position_) +
                " of the header: expected at most " + std::to_string(max) + " bytes"
        );
    }
    return text_of(size);
}

std::string Reader::text_of(std::uint64_t size) {
    if (size > left()) {
        too_short(position_, size);
    }
    std::string text(size, '\0');
    bytes(text.data(), text.size());
    return text;
}

void Reader::skip(std::uint64_t count) {
    if (count > left()) {
        too_short(position_, count);
    }
    position_ += count;
}

void Reader::bytes(void* out, std::size_t count) {
    if (count > left()) {
        too_short(position_, count);
    }
    auto* to = static_cast<char*>(out);
    while (count > 0) {
        if (position_ < buffered_from_ || position_ >= buffered_from_ + buffer_.size()) {
            fill();
        }
        const auto at = static_cast<std::size_t>(position_ - buffered_from_);
        const auto now = std::min(count, buffer_.size() - at);
        std::memcpy(to, buffer_.data() + at, now);
        to += now;
        count -= now;
        position_ += now;
    }
}

void Reader::fill() {
    buffer_.resize(static_cast<std::size_t>(std::min(kBufferBytes, left())));
    buffered_from_ = position_;
    source_.read(position_, buffer_.data(), buffer_.size());
}

} // namespace sotto::gguf
