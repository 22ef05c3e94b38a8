// Short texts in room of their own: reasons are written without allocating memory.
#pragma once

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdio>

#include <sotto/base.h>

namespace sotto::unity {

#if defined(__GNUC__)
#  define SOTTO_UNITY_PRINTF(text, values) __attribute__((format(printf, text, values)))
#else
#  define SOTTO_UNITY_PRINTF(text, values)
#endif

// One line. What does not fit is cut off.
class Text {
public:
    SOTTO_UNITY_PRINTF(2, 3) void format(const char* pattern, ...) {
        std::va_list values;
        va_start(values, pattern);
        const int written = std::vsnprintf(bytes_, sizeof(bytes_), pattern, values);
        va_end(values);
        size_ =
            written < 0 ? 0 : std::min<std::size_t>(static_cast<std::size_t>(written), sizeof(bytes_) - 1);
        drop_cut_character();
    }
    void copy(sotto_str text) {
        constexpr std::size_t kMax = sizeof(bytes_);
        format("%.*s", static_cast<int>(std::min(text.size, kMax)), text.data != nullptr ? text.data : "");
    }
    bool empty() const { return size_ == 0; }
    sotto_str view() const { return {bytes_, size_}; }

private:
    // Keeps UTF-8 whole: removes the first bytes of a character whose last ones did not fit.
    void drop_cut_character() {
        std::size_t start = size_;
        while (start > 0 && (bytes_[start - 1] & 0xC0) == 0x80) {
            --start;
        }
        const unsigned lead = start > 0 ? static_cast<unsigned char>(bytes_[start - 1]) : 0;
        const std::size_t wanted = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
        if (lead >= 0xC0 && size_ - (start - 1) < wanted) {
            size_ = start - 1;
            bytes_[size_] = '\0';
        }
    }

    char bytes_[512] = {};
    std::size_t size_ = 0;
};

} // namespace sotto::unity
