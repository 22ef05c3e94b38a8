// Records when models computed, for comparison with the game's frames.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/schedule/duty_controller.hpp"
#include "core/schedule/frame.hpp"

namespace sotto {

class Activity {
public:
    // Records that models computed from `begin` to `end`.
    void ran(std::int64_t begin, std::int64_t end) noexcept { last_[count_++ % kKept] = {begin, end}; }

    // Returns whether models computed during all of a frame, part of it or none of it. `since`: time at which
    // the running job was issued; INT64_MAX if no job is running.
    Beside during(const Frame& frame, std::int64_t since) const noexcept;

private:
    static constexpr std::size_t kKept = 128;

    struct Span {
        std::int64_t begin = 0;
        std::int64_t end = 0;
    };

    std::array<Span, kKept> last_{};
    std::size_t count_ = 0;
};

} // namespace sotto
