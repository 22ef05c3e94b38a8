// What lower priorities are owed while higher ones keep the models busy.
#pragma once

#include <array>
#include <cstdint>

#include "core/schedule/waiting.hpp"

namespace sotto {

// Deficit accounting of compute time, by priority: a priority earns a tenth of what higher ones use while it
// has requests, and pays for what it uses itself. Once it has earned a few slices it is owed, and goes first
// until that is used up. Where compute time says little, because higher priorities hold the slots and speak
// slowly, a priority that was not served for ten seconds is owed a slice as well.
class FairShare {
public:
    void arrived(sotto_priority priority) noexcept { ++streams_[index_of(priority)]; }
    void left(sotto_priority priority) noexcept { --streams_[index_of(priority)]; }
    // Streams of that priority used so much compute time.
    void spent(sotto_priority priority, std::int64_t ns) noexcept { spent_[index_of(priority)] += ns; }
    // Settles what was spent since the last call.
    void settle(std::int64_t now) noexcept;

    bool is_owed(sotto_priority priority) const noexcept { return accounts_[index_of(priority)].owed; }

private:
    struct Account {
        std::int64_t credit = 0;
        std::int64_t served_at = 0; // or when its first stream came
        bool present = false;       // it had streams when it was settled last
        bool owed = false;
    };

    std::array<std::uint32_t, kPriorities> streams_{};
    std::array<std::int64_t, kPriorities> spent_{};
    std::array<Account, kPriorities> accounts_{};
};

} // namespace sotto
