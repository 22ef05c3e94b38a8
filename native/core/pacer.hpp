// The moments at which one stream's tokens are due.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sotto {

// An exact fractional schedule: after a re-set, token n is due n / rate seconds later, however late
// single tokens come. Who falls more than one period behind is not owed the difference.
class Pacer {
public:
    // Tokens per second; 0: no schedule. The next token is due one new period after the last was due.
    void set_rate(double tps, std::int64_t now) noexcept {
        if (tps == rate_) {
            return;
        }
        const auto last = rate_ > 0 ? due_at(count_ == 0 ? 0 : count_ - 1) : now;
        rate_ = tps;
        start_ = count_ == 0 ? start_ : last;
        count_ = count_ == 0 ? 0 : 1;
    }

    // When the next token may be computed.
    std::int64_t due() const noexcept { return rate_ > 0 && count_ > 0 ? due_at(count_) : INT64_MIN; }

    bool has_rate() const noexcept { return rate_ > 0; }

    // A token was handed out.
    void spoke(std::int64_t now) noexcept {
        if (count_ == 0 || (rate_ > 0 && now - due_at(count_) > period())) {
            start_ = now;
            count_ = 0;
        }
        ++count_;
    }

private:
    static constexpr double kSecond = 1e9;
    static constexpr double kLongest = 0x1p61; // 73 years; what is added up from it still fits

    std::int64_t duration(double tokens) const noexcept {
        return static_cast<std::int64_t>(std::min(tokens * kSecond / rate_, kLongest));
    }
    std::int64_t period() const noexcept { return duration(1); }
    std::int64_t due_at(std::uint64_t n) const noexcept { return start_ + duration(static_cast<double>(n)); }

    double rate_ = 0;
    std::int64_t start_ = 0;  // when token 0 of the present schedule was handed out
    std::uint64_t count_ = 0; // tokens handed out since, that one included
};

} // namespace sotto
