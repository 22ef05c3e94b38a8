#include "core/telemetry/meter.hpp"

#include <algorithm>
#include <cstring>

#include "platform/clock.hpp"

namespace sotto {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// Percentile of the first `count` values; 0 for no values. Reorders the array.
template <typename T, std::size_t N>
T percentile(std::array<T, N>& values, std::size_t count, std::size_t percent) noexcept {
    if (count == 0) {
        return 0;
    }
    const auto at = std::min(count - 1, count * percent / 100);
    std::nth_element(values.begin(), values.begin() + at, values.begin() + count);
    return values[at];
}

} // namespace

void Meter::did(const Done& done) noexcept {
    auto& bucket = buckets_[static_cast<std::size_t>(done.ended / kBucket) % kBuckets];
    if (bucket.number != done.ended / kBucket) {
        bucket = {done.ended / kBucket, 0, 0, 0};
    }
    const auto took = std::max<std::int64_t>(done.ended - done.began, 0);
    bucket.busy += took - done.gated;
    bucket.prompt += done.prompt;
    bucket.generated += done.generated;
    ++all_.slices;
    all_.slice_ns += static_cast<std::uint64_t>(took);
    all_.gated_ns += static_cast<std::uint64_t>(done.gated);
    all_.prompt_tokens += done.prompt;
    all_.completion_tokens += done.generated;
    all_.slice_streams += done.streams;
    all_.draft_tokens += done.drafts.tokens;
    all_.draft_accepted += done.drafts.accepted;
    all_.draft_steps += done.drafts.steps;
    if (done.steps) {
        slices_[sliced_++ % kSlices] = static_cast<float>(milliseconds(took));
    }
}

void Meter::ended(sotto_status status) noexcept {
    all_.finished += status >= 0 ? 1 : 0;
    all_.cancelled += status == SOTTO_ERROR_CANCELLED ? 1 : 0;
    all_.failed += status < 0 && status != SOTTO_ERROR_CANCELLED ? 1 : 0;
}

void Meter::began(double first_ms) noexcept {
    firsts_[begun_++ % kFirsts] = first_ms;
}

void Meter::show(const sotto_stats& now, std::int64_t time) noexcept {
    auto stats = now;
    stats.finished = all_.finished;
    stats.failed = all_.failed;
    stats.cancelled = all_.cancelled;
    stats.completion_tokens = all_.completion_tokens;
    stats.prompt_tokens = all_.prompt_tokens;
    stats.cached_prompt_tokens = all_.cached_prompt_tokens;
    stats.slices = all_.slices;
    stats.slice_ns = all_.slice_ns;
    stats.gated_ns = all_.gated_ns;
    stats.slice_streams = all_.slice_streams;
    stats.draft_tokens = all_.draft_tokens;
    stats.draft_accepted = all_.draft_accepted;
    stats.draft_steps = all_.draft_steps;
    sum_up(stats, time);
    publish(stats, time);
}

void Meter::sum_up(sotto_stats& stats, std::int64_t time) const noexcept {
    Bucket sum;
    for (const auto& bucket : buckets_) {
        if (bucket.number + static_cast<std::int64_t>(kBuckets) > time / kBucket) {
            sum.busy += bucket.busy;
            sum.prompt += bucket.prompt;
            sum.generated += bucket.generated;
        }
    }
    stats.busy = static_cast<float>(std::min(1.0, static_cast<double>(sum.busy) / kSecond));
    stats.prompt_per_s = static_cast<float>(sum.prompt);
    stats.tokens_per_s = static_cast<float>(sum.generated);
    auto slices = slices_;
    stats.step_p99_ms = percentile(slices, std::min<std::size_t>(sliced_, kSlices), 99);
    const auto firsts = std::min<std::size_t>(begun_, kFirsts);
    double all = 0;
    for (std::size_t i = 0; i < firsts; ++i) {
        all += firsts_[i];
    }
    stats.ttft_mean_ms = firsts == 0 ? 0 : static_cast<float>(all / static_cast<double>(firsts));
}

void Meter::publish(const sotto_stats& stats, std::int64_t time) noexcept {
    std::array<std::uint64_t, kWords> words{};
    std::memcpy(words.data(), &stats, sizeof stats);
    const auto count = count_.load(std::memory_order_relaxed) + 1;
    auto& copy = copies_[count % 2];
    for (std::size_t i = 0; i < kWords; ++i) {
        copy.words[i].store(words[i], std::memory_order_seq_cst);
    }
    copy.time.store(time, std::memory_order_seq_cst);
    count_.store(count, std::memory_order_seq_cst);
}

sotto_stats Meter::read(const Frames& frames, std::int64_t now) const noexcept {
    std::array<std::uint64_t, kWords> words{};
    std::int64_t shown = 0;
    std::uint64_t count = 0;
    do {
        count = count_.load(std::memory_order_seq_cst);
        const auto& copy = copies_[count % 2];
        for (std::size_t i = 0; i < kWords; ++i) {
            words[i] = copy.words[i].load(std::memory_order_seq_cst);
        }
        shown = copy.time.load(std::memory_order_seq_cst);
    } while (count_.load(std::memory_order_seq_cst) != count);
    sotto_stats stats{};
    std::memcpy(&stats, words.data(), sizeof stats);
    if (stats.waiting > 0) { // waiting requests have waited longer since the last publication
        stats.queue_wait_max_ms += static_cast<float>(milliseconds(std::max<std::int64_t>(now - shown, 0)));
    }
    if (now - shown > kSecond) { // the engine has been idle since the last publication
        stats.busy = stats.prompt_per_s = stats.tokens_per_s = 0;
    }
    std::array<float, Frames::kShown> work{};
    const auto framed = frames.last(work);
    stats.frame_p50_ms = percentile(work, framed, 50);
    stats.frame_p95_ms = percentile(work, framed, 95);
    stats.frame_p99_ms = percentile(work, framed, 99);
    const auto report = frames.report();
    stats.frames = report.ended > report.begun ? report.ended : report.begun;
    stats.frames_missed = report.missed;
    return stats;
}

} // namespace sotto
