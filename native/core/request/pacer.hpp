// The moments at which one answer's tokens are told.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace sotto {

// An exact fractional schedule: token n is told n / rate seconds after the first, however late single tokens
// are taken. Who takes none for a while gets what was missed at twice the rate; a token that was made more
// than a period late moves the schedule, so that a slow model does not end in a hurry.
//
// One thread at a time calls what is not const; any thread may ask what was told.
class Pacer {
public:
    // Two rates, in tokens per second: what this answer was given, and what holds where that is 0.
    // 0 as well: no schedule.
    Pacer(const std::atomic<float>& own, const std::atomic<float>& everybodys)
        : own_(own), everybodys_(everybodys) {}

    double rate() const noexcept {
        const double own = own_.load(std::memory_order_relaxed);
        return own > 0 ? own : static_cast<double>(everybodys_.load(std::memory_order_relaxed));
    }

    // When an answer's token `n`, counted from 1, may be told, which was made at `made`. At once: below.
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

    // Token `n` was told at `now`. `late`: so much after it was due is no more than its taker's usual delay.
    void tell(std::uint32_t n, std::int64_t made, std::int64_t now, std::int64_t late) noexcept {
        const double now_rate = rate();
        const auto moment = due(n, made);
        if (moment == INT64_MIN) {
            plan_ = {n, now};
            last_ = now;
        } else {
            if (now_rate != rate_) { // from this token on
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

    // How many tokens were told, and about when the next one will be. Any thread.
    std::uint32_t told() const noexcept { return seen_told_.load(std::memory_order_acquire); }
    std::int64_t next() const noexcept {
        const auto now_rate = rate();
        return now_rate <= 0 ? INT64_MIN : seen_last_.load(std::memory_order_relaxed) + duration(1, now_rate);
    }

    static std::int64_t duration(std::uint32_t tokens, double rate) noexcept {
        constexpr double kSecond = 1e9;
        constexpr double kLongest = 0x1p61; // 73 years; what is added up from it still fits
        return static_cast<std::int64_t>(std::min(tokens * kSecond / rate, kLongest));
    }

private:
    // From when and which token on the schedule counts.
    struct Plan {
        std::uint32_t token = 0;
        std::int64_t begin = 0;
    };

    const std::atomic<float>& own_;
    const std::atomic<float>& everybodys_;
    double rate_ = 0; // when the last token was told
    Plan plan_;
    std::uint32_t told_ = 0;
    std::int64_t last_ = 0; // when the last token was due, or told if that was much later
    std::atomic<std::uint32_t> seen_told_{0};
    std::atomic<std::int64_t> seen_last_{0};
};

} // namespace sotto
