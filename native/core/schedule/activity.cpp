#include "core/schedule/activity.hpp"

#include <algorithm>

namespace sotto {

Beside Activity::during(const Frame& frame, std::int64_t since) const noexcept {
    constexpr std::int64_t kNearly = 5; // divisor: Beside::ran allows pauses of up to 1/5 of the frame
    const auto overlap = [&](std::int64_t begin, std::int64_t end) {
        return std::max<std::int64_t>(0, std::min(end, frame.end) - std::max(begin, frame.begin));
    };
    auto computed = overlap(since, frame.end);
    for (std::size_t i = 0; i < std::min(count_, kKept); ++i) {
        computed += overlap(last_[i].begin, last_[i].end);
    }
    const auto length = frame.end - frame.begin;
    return computed == 0                           ? Beside::rested
           : computed >= length - length / kNearly ? Beside::ran
                                                   : Beside::both;
}

} // namespace sotto
