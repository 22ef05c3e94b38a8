// Progress of a request, in units of computing: see graph_cost.hpp.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sotto::diffusion {

// Units of the phases of an image.
struct PhaseCosts {
    double before = 0; // the prompt, and the image that generation starts from
    double step = 0;   // a denoise step
    double after = 0;  // decoding

    PhaseCosts times(double factor) const noexcept {
        return {before * factor, step * factor, after * factor};
    }
};

class Progress {
public:
    // What a step has computed.
    struct Told {
        std::uint32_t evaluated; // units; at least 1
        std::uint32_t remaining; // of the request, as expected; at least 1
    };

    // `expected`: costs of each of `images` images, of `steps` denoise steps each.
    Progress(const PhaseCosts& expected, std::uint32_t images, std::uint32_t steps) noexcept
        : expected_(expected), images_(images), steps_(steps), remaining_(expected_units()) {}

    // Call when a part of a graph has been computed.
    void add(double units) noexcept {
        in_phase_ += units;
        untold_ += units;
    }
    // Call when the prompt is encoded, and after each denoise step: such a phase of later steps and images is
    // expected to cost what this one did.
    void end_phase() noexcept;
    void end_image() noexcept;

    // Units computed since tell() or since the start.
    double untold() const noexcept { return untold_; }
    // Units that are expected to remain; at least 1. Never rises.
    std::uint32_t remaining() const noexcept { return remaining_; }
    // Call at the end of a step. `most`: units that the step was asked for.
    Told tell(std::uint32_t most) noexcept;

private:
    std::uint32_t expected_units() const noexcept;

    PhaseCosts expected_;
    std::uint32_t images_; // that are left, the present one included
    const std::uint32_t steps_;
    std::uint32_t phase_ = 0; // of the present image: 0, then each denoise step, then decoding
    double in_phase_ = 0;     // units computed in it
    double untold_ = 0;
    std::uint32_t remaining_;
};

} // namespace sotto::diffusion
