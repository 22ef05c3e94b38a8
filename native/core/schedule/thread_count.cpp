#include "core/schedule/thread_count.hpp"

#include <algorithm>
#include <utility>

namespace sotto {
namespace {

// Returns the distance to the next number of threads to try: 1 for small
// numbers, a quarter of large ones.
std::uint32_t stride(std::uint32_t count) noexcept {
    return std::max(1U, count / 4);
}

} // namespace

void ThreadCount::set_max(std::uint32_t max, std::int64_t now) noexcept {
    max = std::max(max, 1U);
    if (max == max_) {
        return;
    }
    const auto before = std::exchange(with_other_max_, {max_, count_, schedule_.saved()});
    const bool known = before.max == max;
    max_ = max;
    spares_ = false;
    count_ = known ? before.count : max;
    schedule_.restart(known ? &before.schedule : nullptr, now);
    trial_.end();
    upwards_ = false;
}

// Returns the number of threads to try next; 0 if no number is left in the direction of `upwards_`.
std::uint32_t ThreadCount::neighbour() const noexcept {
    if (upwards_ ? count_ >= max_ : count_ <= 1) {
        return 0;
    }
    return upwards_ ? std::min(count_ + stride(count_), max_) : count_ - stride(count_);
}

void ThreadCount::stepped(
    std::uint32_t threads, std::int64_t ns, std::int64_t predicted, std::int64_t now
) noexcept {
    if (max_ == 1 || predicted <= 0 || threads != this->now()) {
        return;
    }
    // The first step on another number of threads includes the time to wake threads: not compared
    if (std::exchange(changed_, false) && !ThreadTrial::is_long(ns)) {
        trial_.skip(ns);
        return;
    }
    if (trial_.count() == 0) {
        if (schedule_.stepped(ns, predicted, trial_.elsewhere_ns(), now)) {
            begin_trial(now);
        }
        return;
    }
    switch (trial_.add(ns, predicted, count_)) {
    case ThreadTrial::Verdict::next_window:
        changed_ = true;
        break;
    case ThreadTrial::Verdict::adopt:
        adopt(now);
        break;
    case ThreadTrial::Verdict::reject:
        reject(now);
        break;
    case ThreadTrial::Verdict::open:
        break;
    }
}

void ThreadCount::begin_trial(std::int64_t now) noexcept {
    if (neighbour() == 0) {
        upwards_ = !upwards_;
    }
    if (const auto count = neighbour(); count != 0) {
        trial_.begin(count);
        schedule_.began();
    } else {
        schedule_.put_off(now);
    }
}

void ThreadCount::adopt(std::int64_t now) noexcept {
    count_ = trial_.count();
    trial_.end();
    changed_ = true;
    schedule_.adopted(now);
}

void ThreadCount::reject(std::int64_t now) noexcept {
    trial_.end();
    changed_ = true;
    upwards_ = !upwards_;
    if (neighbour() == 0) {
        upwards_ = !upwards_;
    }
    schedule_.rejected(trial_.elsewhere_ns(), upwards_, now);
}

void ThreadCount::gave_up(bool known, std::int64_t now) noexcept {
    if (!known) {
        spares_ = count_ > 1;
        return;
    }
    if (!tries()) {
        count_ = std::max(count_ - 1, 1U);
    }
    reject(now);
    upwards_ = true;
    schedule_.gave_up(now);
}

} // namespace sotto
