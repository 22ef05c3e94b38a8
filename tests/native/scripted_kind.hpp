// What the modules of the scripted backend differ in.
#pragma once

#include <cstdint>
#include <string_view>

namespace scripted {

struct Kind {
    std::string_view name;
    std::string_view description; // JSON
    std::uint32_t uses = 0;       // as far as an engine can see
};

extern const Kind kKind;

} // namespace scripted
