// The schedule on which the tokens of one answer are delivered.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace sotto {

// An exact fractional schedule: token n is due n / rate seconds after the first, however late single tokens
// are taken. After a pause of the host, the backlog is delivered at twice the rate. A token that was
// generated more than a period late shifts the schedule, so that a slow model is not followed by a burst.
//
// Any thread may call rate(), told(), next() and duration(); one thread at a time may call due() and tell().
class Pacer {
public:
    // `own`: the answer's rate in tokens per second. `everybodys`: the engine's rate, used if `own` is 0.
    // Both 0: no pacing.
    Pacer(const std::atomic<float>& own, const std::atomic<float>& everybodys)
        : own_(own), everybodys_(everybodys) {}

    double rate() const noexcept {
        const double own = own_.load(std::memory_order_relaxed);
        return own > 0 ? own : static_cast<double>(everybodys_.load(std::memory_order_relaxed));
    }

    // Time at which token `n` (counted from 1), generated at `made`, is due. Without pacing: INT64_MIN.
    std::int64_t due(std::uint32_t n, std::int64_t made) const noexcept {
        const double now_rate = rate();
        if (now_rate <= 0 || rate_ <= 0) {
            return INT64_MIN;
        }
        const auto plan = now_rate == rate_ ? plan_ : Plan{told_, last_};
        const auto wanted = plan.begin + duration(n - std::min(n, plan.token), now_rate);
        const auto planned = made - wanted > duration(1, now_rate) ? made : wanted;
        return std::max(planned, last_ + duration(n - std::min(n, told_), now_rate) / 2);
    }

    // Records that token `n`, generated at `made`, was delivered at `now`. `late`: a delay up to this is the
    // host's usual polling interval and does not count as lateness.
    void tell(std::uint32_t n, std::int64_t made, std::int64_t now, std::int64_t late) noexcept {
        const double now_rate = rate();
        const auto moment = due(n, made);
        if (moment == INT64_MIN) {
            plan_ = {n, now};
            last_ = now;
        } else {
            if (now_rate != rate_) { // the new rate applies from this token on
                plan_ = {n, now};
            }
            const auto wanted = plan_.begin + duration(n - std::min(n, plan_.token), now_rate);
            if (made - wanted > duration(1, now_rate)) {
                plan_ = {n, made};
            }
            last_ = now_rate != rate_ || now - moment > late ? now : moment;
        }
        rate_ = now_rate;
        told_ = n;
        seen_told_.store(n, std::memory_order_release);
        seen_last_.store(last_, std::memory_order_relaxed);
    }

    // Number of tokens delivered, and the approximate time when the next one is due. Any thread.
    std::uint32_t told() const noexcept { return seen_told_.load(std::memory_order_acquire); }
    std::int64_t next() const noexcept {
        const auto now_rate = rate();
        return now_rate <= 0 ? INT64_MIN : seen_last_.load(std::memory_order_relaxed) + duration(1, now_rate);
    }

    static std::int64_t duration(std::uint32_t tokens, double rate) noexcept {
        constexpr double kSecond = 1e9;
        constexpr double kLongest = 0x1p61; // ns, 73 years; sums of such durations do not overflow
        return static_cast<std::int64_t>(std::min(tokens * kSecond / rate, kLongest));
    }

private:
    // First token of the current schedule, and its time.
    struct Plan {
        std::uint32_t token = 0;
        std::int64_t begin = 0;
    };

    const std::atomic<float>& own_;
    const std::atomic<float>& everybodys_;
    double rate_ = 0; // rate when the last token was delivered
    Plan plan_;
    std::uint32_t told_ = 0;
    std::int64_t last_ = 0; // time when the last token was due, or was delivered if that was much later
    std::atomic<std::uint32_t> seen_told_{0};
    std::atomic<std::int64_t> seen_last_{0};
};

} // namespace sotto
