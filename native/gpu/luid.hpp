// How a LUID is told to people: what Windows names an adapter by, until it restarts.
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
