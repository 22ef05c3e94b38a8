// How much of the time models may use, so that the game keeps its frames.
#pragma once

#include <cstdint>

#include "core/frame.hpp"

namespace sotto {

// Additive increase, multiplicative decrease (Chiu and Jain, 1989) over the frames that the game reports:
// when more than one in a hundred misses its period, models get less, and more again little by little. Frames
// that are missed whatever models do are the game's own, and cost them nothing.
class Share {
public:
    // Takes a frame in. `least`: models get no less than that, whatever is missed.
    void frame(const Frame& frame, double least) noexcept;

    // Between 0 and 1.
    double now() const noexcept { return share_; }

private:
    void look(double least) noexcept;
    void decrease(double rate, double least) noexcept;

    double share_ = 1;
    double own_ = 0; // part of its frames that the game misses by itself
    std::uint32_t frames_ = 0;
    std::uint32_t missed_ = 0;
    std::uint32_t cuts_ = 0;  // in a row
    double rate_before_ = 0;  // the cuts
    double share_before_ = 1; // the cuts
    double ceiling_ = 1;      // where it was cut last
};

// How long models rest after a step that took so long, to have no more than `share` of the time.
std::int64_t rest_of(double share, std::int64_t took) noexcept;

} // namespace sotto
