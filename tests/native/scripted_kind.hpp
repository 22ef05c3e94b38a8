// Differences between the modules of the scripted backend.
#pragma once

#include <cstdint>
#include <string_view>

namespace scripted {

struct Kind {
    std::string_view name;
    std::string_view description; // JSON
    std::uint32_t uses = 0;       // hardware that it reports to use
};

extern const Kind kKind;

} // namespace scripted
