#include "core/schedule/fair_share.hpp"

#include <algorithm>
#include <utility>

namespace sotto {

void FairShare::settle(std::int64_t now) noexcept {
    constexpr std::int64_t kShare = 10; // divisor: a priority earns 1/10 of the time that higher ones use
    constexpr std::int64_t kEarned = 20'000'000;
    constexpr std::int64_t kMaxDebt = 2'000'000'000;
    constexpr std::int64_t kMaxWait = 10'000'000'000;
    std::int64_t above = 0;
    std::uint32_t higher = 0;
    for (std::size_t i = kPriorities; i-- > 0;) {
        auto& account = accounts_[i];
        const auto spent = std::exchange(spent_[i], 0);
        const bool contended = streams_[i] > 0 && (higher > 0 || above > 0);
        if (spent > 0 || !account.present) {
            account.served_at = now;
        }
        account.present = streams_[i] > 0;
        if (contended) {
            account.credit = std::clamp(account.credit + above / kShare - spent, -kMaxDebt, kEarned);
            const bool earned = account.owed ? account.credit > 0 : account.credit >= kEarned;
            account.owed = earned || now - account.served_at > kMaxWait;
        } else {
            account.credit = streams_[i] > 0 ? 0 : std::min<std::int64_t>(account.credit, 0);
            account.owed = false;
        }
        above += spent;
        higher += streams_[i];
    }
}

} // namespace sotto
