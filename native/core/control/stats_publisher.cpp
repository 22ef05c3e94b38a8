#include "core/control/stats_publisher.hpp"

#include <algorithm>

namespace sotto {

bool StatsPublisher::is_due(bool worked) noexcept {
    constexpr std::int64_t kInterval = 50'000'000;
    changed_ = changed_ || worked;
    return changed_ && (!worked || clock_.now() - published_at_ >= kInterval);
}

void StatsPublisher::publish(const Scheduler& scheduler, const Registry& registry, double share) noexcept {
    sotto_stats stats{};
    const auto now = clock_.now();
    const auto counts = scheduler.counts(now);
    stats.waiting = counts.waiting;
    stats.prefilling = counts.prompting;
    stats.decoding = counts.speaking;
    stats.parked = counts.parked;
    stats.queue_wait_max_ms = static_cast<float>(milliseconds(now - counts.oldest));
    stats.share = static_cast<float>(share);
    for (const auto& entry : registry.entries()) {
        stats.threads = std::max(stats.threads, entry->thread_count.settled());
        stats.waiting += static_cast<std::uint32_t>(entry->requests.held.size());
        stats.models_evicted += entry->state == ModelEntry::State::evicted ? 1 : 0;
    }
    meter_.show(stats, now);
    recorder_.flush();
    published_at_ = now;
    changed_ = false;
}

} // namespace sotto
