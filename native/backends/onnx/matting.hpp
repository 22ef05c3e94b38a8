// One request to remove a background, computed in units: the model, bands of rows, the file.
#pragma once

#include <cstdint>
#include <string>

#include <sotto/module.h>

#include "backends/onnx/cutout.hpp"
#include "backends/onnx/recipe.hpp"
#include "backends/onnx/session.hpp"

namespace sotto::onnx {

class Matting {
public:
    // `session` outlives this object.
    Matting(MatteRequest request, Session& session, const Recipe& recipe);

    std::uint32_t units() const noexcept { return cutout_.bands() + 2; }
    // Computes the next unit and fills the out fields of `item`. Returns false if the gate ended the step;
    // the unit is computed again by the next step. Throws Error.
    bool step(const sotto_step& step, sotto_step_item& item);

private:
    bool compute(const sotto_step& step);
    bool run_model(const sotto_step& step);
    bool encode(const sotto_step& step);
    void deliver(sotto_step_item& item);

    Cutout cutout_;
    Session& session_;
    const Recipe recipe_;
    std::uint32_t done_ = 0; // units
    std::string file_;
    std::string info_;   // of the data
    std::string answer_; // the response
};

} // namespace sotto::onnx
