// What a thread that loads a model does for stable-diffusion.cpp.
#pragma once

#include <functional>

#include "backends/diffusion/run.hpp"

namespace sotto::diffusion {

class LoadRun : public Run {
public:
    // `report` gets the share of the tensors that are loaded, 0 to 1, and must not throw: other threads load.
    explicit LoadRun(const std::function<void(float)>& report) : report_(report) {}

    ggml_status compute(ggml_backend_t backend, ggml_cgraph* graph) override {
        return ggml_backend_graph_compute(backend, graph);
    }
    void report(float share) const { report_(share); }

private:
    const std::function<void(float)>& report_;
};

} // namespace sotto::diffusion
