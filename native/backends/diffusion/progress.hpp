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
};

// Costs of images of any size, from those of a smaller and a larger one.
class ExpectedCosts {
public:
    struct Sample {
        double pixels = 0;
        PhaseCosts costs;
    };

    ExpectedCosts() = default;
    ExpectedCosts(const Sample& smaller, const Sample& larger) noexcept
        : smaller_(smaller), larger_(larger) {}

    PhaseCosts of(double pixels) const noexcept;

private:
    Sample smaller_;
    Sample larger_;
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
    // Call when the prompt is encoded, with 0, and after each denoise step, from 1: such a phase of later
    // steps and images is expected to cost what this one did. Returns false if another phase was running.
    bool end_phase(std::uint32_t phase) noexcept;
    void end_image() noexcept;

    // `units`: what the step is to compute; 0 is taken for 1.
    void begin_step(std::uint32_t units) noexcept { asked_ = std::max(units, 1U); }
    // Returns true if the step has computed its units.
    bool ends_step() const noexcept { return untold_ >= asked_; }
    Told end_step() noexcept;
    // Units that are expected to remain; at least 1. Never rises.
    std::uint32_t remaining() const noexcept { return remaining_; }

private:
    std::uint32_t expected_units() const noexcept;

    PhaseCosts expected_;
    std::uint32_t images_; // that are left, the present one included
    const std::uint32_t steps_;
    std::uint32_t phase_ = 0; // of the present image: 0, then each denoise step, then decoding
    double in_phase_ = 0;     // units computed in it
    double untold_ = 0;       // units computed that no step has told
    std::uint32_t asked_ = 1; // units of the present step
    std::uint32_t remaining_;
};

} // namespace sotto::diffusion
