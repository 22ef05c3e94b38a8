// The scripted backend with a count of restored states.
#pragma once

#include <atomic>
#include <cstdint>

#include "support/game.hpp"

namespace test {

inline std::atomic<int> g_restored{0};

// A backend that counts restored states.
inline sotto_backend restoring() {
    auto table = scripted();
    table.state_restore =
        [](void* self, void* model, sotto_str state, std::uint32_t* tokens, sotto_str* why) {
            const auto status = scripted().state_restore(self, model, state, tokens, why);
            g_restored += status == SOTTO_OK ? 1 : 0;
            return status;
        };
    return table;
}

} // namespace test
