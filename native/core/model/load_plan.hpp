// Fits a model into the memory available: as requested, or shrunk step by step.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "module/backend.hpp"

namespace sotto {

// Upper limits on a model's size, passed to the backend in addition to the model's options.
struct Shape {
    sotto_source_flags flags = 0;
    std::uint32_t streams = 0; // maximum; 0: as in the options
    std::uint32_t tokens = 0;  // maximum per stream; 0: as in the options
    std::uint32_t layers = 0;  // maximum on the device; 0: as in the options
};

struct PlanStep {
    const char* name = "";
    Shape shape;
    ModelInfo info; // measured size
    bool fits = false;
};

struct LoadPlan {
    std::vector<PlanStep> rungs; // shapes tried, in order; the last is the smallest
    bool fits = false;           // true if the last rung fits

    const PlanStep& last() const noexcept { return rungs.back(); }
    std::uint64_t least() const noexcept { return last().info.bytes(); }
};

// Parts of a model that may be shrunk to make it fit.
enum class ShrinkScope : std::uint8_t {
    all,    // every part that the model's options do not fix
    streams // only the number of concurrent streams, so that saved KV cache states still fit
};

// Tries `asked`, then smaller shapes, until one fits into `room` bytes or nothing can be shrunk
// further. `measure` returns the memory that a model of a shape needs, and may throw.
LoadPlan
fit(const Shape& asked,
    ShrinkScope smaller,
    std::uint64_t room,
    const std::function<ModelInfo(const Shape&)>& measure);

// Returns the error text for a model that does not fit: the memory it needs, the memory available,
// and what to change. `used`: bytes of the budget in use by other models; `idle`: bytes of `used`
// held by models that could be evicted.
std::string refusal(
    const std::string& id, const LoadPlan& fit, std::uint64_t budget, std::uint64_t used, std::uint64_t idle
);

} // namespace sotto
