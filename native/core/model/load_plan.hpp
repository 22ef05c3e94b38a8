// How a model fits into what memory there is: as asked, or made smaller step by step.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "module/backend.hpp"

namespace sotto {

// What a backend is told of how large a model may be, beside its options.
struct Shape {
    sotto_source_flags flags = 0;
    std::uint32_t streams = 0; // at most; 0: as the options have it
    std::uint32_t tokens = 0;  // of each, likewise
    std::uint32_t layers = 0;  // on the device, likewise
};

struct PlanStep {
    const char* name = "";
    Shape shape;
    ModelInfo info; // what it would be, and take
    bool fits = false;
};

struct LoadPlan {
    std::vector<PlanStep> rungs; // that were tried, in their order; the last is the smallest
    bool fits = false;           // the last of them does

    const PlanStep& last() const noexcept { return rungs.back(); }
    std::uint64_t least() const noexcept { return last().info.bytes(); }
};

// What may be made smaller of a model.
enum class ShrinkScope : std::uint8_t {
    all,    // whatever its options leave open
    streams // how many there are at once alone, so that what was saved of it fits
};

// Tries `asked` first, until something fits into `room` bytes, or no more can be made smaller. `measure` says
// what a model of a shape would take, and may throw.
LoadPlan
fit(const Shape& asked,
    ShrinkScope smaller,
    std::uint64_t room,
    const std::function<ModelInfo(const Shape&)>& measure);

// Why a model is refused: what it needs, what there is, what would help. `used`: by others, of the budget;
// `idle`: of that, by models that could be put to sleep.
std::string refusal(
    const std::string& id, const LoadPlan& fit, std::uint64_t budget, std::uint64_t used, std::uint64_t idle
);

} // namespace sotto
