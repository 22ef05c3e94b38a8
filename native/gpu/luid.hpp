// Text of a LUID, by which Windows identifies an adapter until the next restart.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace sotto::gpu {

inline std::string luid_text(std::uint64_t luid) {
    constexpr const char* kDigits = "0123456789abcdef";
    std::string text;
    do {
        text.insert(text.begin(), kDigits[luid & 15]);
        luid >>= 4;
    } while (luid != 0);
    return "0x" + text;
}

} // namespace sotto::gpu
