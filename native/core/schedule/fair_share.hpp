// Guarantees lower priorities a share of the compute time while higher priorities keep the models busy.
#pragma once

#include <array>
#include <cstdint>

#include "core/schedule/waiting.hpp"

namespace sotto {

// Deficit accounting of compute time, by priority. A priority with requests earns a tenth of the compute time
// that higher priorities use, and pays for the time that it uses itself. A priority that has earned 20 ms is
// owed a share: it precedes all others until its credit is used up. A priority that was not served for 10 s
// is owed a slice too, because it earns little while higher priorities hold the slots and decode slowly.
class FairShare {
public:
    void arrived(sotto_priority priority) noexcept { ++streams_[index_of(priority)]; }
    void left(sotto_priority priority) noexcept { --streams_[index_of(priority)]; }
    // Records `ns` of compute time used by streams of that priority.
    void spent(sotto_priority priority, std::int64_t ns) noexcept { spent_[index_of(priority)] += ns; }
    // Updates the credits by the time recorded since the last call, and decides which priorities are owed a
    // share.
    void settle(std::int64_t now) noexcept;

    bool is_owed(sotto_priority priority) const noexcept { return accounts_[index_of(priority)].owed; }

private:
    struct Account {
        std::int64_t credit = 0;
        std::int64_t served_at = 0; // time last served, or arrival of the priority's first stream
        bool present = false;       // had streams at the last settlement
        bool owed = false;
    };

    std::array<std::uint32_t, kPriorities> streams_{};
    std::array<std::int64_t, kPriorities> spent_{};
    std::array<Account, kPriorities> accounts_{};
};

} // namespace sotto
