// The figures of an engine: the control thread counts, anybody looks.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include <sotto/stats.h>

#include "core/schedule/frame.hpp"

namespace sotto {

// What is counted, by the control thread alone, and shown to others from time to time.
class Meter {
public:
    struct Done {
        std::int64_t began = 0;
        std::int64_t ended = 0;
        std::int64_t gated = 0;
        std::uint32_t prompt = 0;
        std::uint32_t generated = 0;
        bool steps = false;
    };
    // A piece of work was done.
    void did(const Done& done) noexcept;
    // A request ended.
    void ended(sotto_status status) noexcept;
    // An answer began so long after it was asked for, with so many tokens remembered.
    void began(double first_ms) noexcept;
    void remembered(std::uint32_t tokens) noexcept { all_.cached_prompt_tokens += tokens; }

    // What is the case at the moment; the rest of the struct is the meter's.
    void show(const sotto_stats& now, std::int64_t time) noexcept;

    // What was shown last, and the figures of frames. Any thread.
    sotto_stats read(const Frames& frames, std::int64_t now) const noexcept;

private:
    static constexpr std::int64_t kBucket = 100'000'000;
    static constexpr std::size_t kBuckets = 10; // the last second
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

    sotto_stats all_{}; // the totals
    std::array<Bucket, kBuckets> buckets_{};
    std::array<float, kSlices> slices_{};
    std::uint64_t sliced_ = 0;
    std::array<double, kFirsts> firsts_{};
    std::uint64_t begun_ = 0;

    // Two copies, of which one is shown while the other is written, so that nobody waits for a writer that
    // is suspended. A reader looks again where the count changed meanwhile.
    struct Copy {
        std::array<std::atomic<std::uint64_t>, kWords> words{};
        std::atomic<std::int64_t> time{0};
    };
    std::array<Copy, 2> copies_;
    std::atomic<std::uint64_t> count_{0};
};

} // namespace sotto
