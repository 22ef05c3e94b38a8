// Statistics of an engine: written by the control thread, read by any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include <sotto/stats.h>

#include "core/schedule/frame.hpp"

namespace sotto {

// Counters that the control thread writes and publishes. Control thread only, except read().
class Meter {
public:
    struct Drafts {
        std::uint32_t tokens = 0;
        std::uint32_t accepted = 0;
        std::uint32_t steps = 0;
    };
    struct Done {
        std::int64_t began = 0;
        std::int64_t ended = 0;
        std::int64_t gated = 0;
        std::uint32_t prompt = 0;
        std::uint32_t generated = 0;
        std::uint32_t streams = 0;
        bool steps = false;
        Drafts drafts;
    };
    // Records a finished step or other job.
    void did(const Done& done) noexcept;
    // Records the end of a request.
    void ended(sotto_status status) noexcept;
    // began() records an answer's time to first token, remembered() the prompt tokens that were cached.
    void began(double first_ms) noexcept;
    void remembered(std::uint32_t tokens) noexcept { all_.cached_prompt_tokens += tokens; }

    // Publishes the statistics at `time`. `now`: current values, such as the number of waiting requests; the
    // meter adds the counters.
    void show(const sotto_stats& now, std::int64_t time) noexcept;

    // Returns the statistics published last, with statistics of the game's frames. Any thread.
    sotto_stats read(const Frames& frames, std::int64_t now) const noexcept;

private:
    static constexpr std::int64_t kBucket = 100'000'000;
    static constexpr std::size_t kBuckets = 10; // of the last second
    static constexpr std::size_t kSlices = 256;
    static constexpr std::size_t kFirsts = 32;
    static constexpr std::size_t kWords = (sizeof(sotto_stats) + 7) / 8;

    struct Bucket {
        std::int64_t number = 0;
        std::int64_t busy = 0;
        std::uint64_t prompt = 0;
        std::uint64_t generated = 0;
    };

    void sum_up(sotto_stats& stats, std::int64_t time) const noexcept;
    void publish(const sotto_stats& stats, std::int64_t time) noexcept;

    sotto_stats all_{}; // totals since the start
    std::array<Bucket, kBuckets> buckets_{};
    std::array<float, kSlices> slices_{};
    std::uint64_t sliced_ = 0;
    std::array<double, kFirsts> firsts_{};
    std::uint64_t begun_ = 0;

    // Double buffer: one copy is read while the other is written, so that no reader waits for a suspended
    // writer. A reader retries if the version changed meanwhile.
    struct Copy {
        std::array<std::atomic<std::uint64_t>, kWords> words{};
        std::atomic<std::int64_t> time{0};
    };
    std::array<Copy, 2> copies_;
    std::atomic<std::uint64_t> count_{0};
};

} // namespace sotto
