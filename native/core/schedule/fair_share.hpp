// Compute time owed to lower priorities while higher ones keep the models busy.
#pragma once

#include <array>
#include <cstdint>

#include "core/schedule/waiting.hpp"

namespace sotto {

// Deficit accounting of compute time, by priority. A priority earns a tenth of the time that higher
// ones use while it has requests, and pays for its own use. After earning 20 ms it is owed a share,
// and precedes all others until that is used up. A priority that was not served for 10 s is owed a
// slice too: compute time says little while higher priorities hold the slots and decode slowly.
class FairShare {
public:
    void arrived(sotto_priority priority) noexcept { ++streams_[index_of(priority)]; }
    void left(sotto_priority priority) noexcept { --streams_[index_of(priority)]; }
    // Records `ns` of compute time used by streams of that priority.
    void spent(sotto_priority priority, std::int64_t ns) noexcept { spent_[index_of(priority)] += ns; }
    // Settles the time used since the last call.
    void settle(std::int64_t now) noexcept;

    bool is_owed(sotto_priority priority) const noexcept { return accounts_[index_of(priority)].owed; }

private:
    struct Account {
        std::int64_t credit = 0;
        std::int64_t served_at = 0; // or arrival of its first stream
        bool present = false;       // had streams at the last settlement
        bool owed = false;
    };

    std::array<std::uint32_t, kPriorities> streams_{};
    std::array<std::int64_t, kPriorities> spent_{};
    std::array<Account, kPriorities> accounts_{};
};

} // namespace sotto
