#include "backends/diffusion/run.hpp"

#include <utility>

#include "backends/diffusion/graph_cost.hpp"
#include "backends/diffusion/sd_cpp/sd_facts.hpp"

namespace sotto::diffusion {
namespace {

thread_local Run* current_run = nullptr;

} // namespace

ggml_status DryRun::compute(ggml_backend_t, ggml_cgraph* graph) {
    *phase_ += cost_of(*graph);
    return GGML_STATUS_SUCCESS;
}

Run::Run() noexcept : outer_(std::exchange(current_run, this)) {}

Run::~Run() {
    current_run = outer_;
}

Run* Run::current() noexcept {
    return current_run;
}

// Sources of stable-diffusion.cpp call this instead of ggml_backend_graph_compute(): see hooks.hpp.
ggml_status compute(ggml_backend_t backend, ggml_cgraph* graph) {
    auto* const run = Run::current();
    return run != nullptr ? run->compute(backend, graph) : ggml_backend_graph_compute(backend, graph);
}

// stable-diffusion.cpp calls this: see sd_facts.hpp.
void on_denoise_step(int step, int, float) {
    if (auto* const run = Run::current(); run != nullptr) {
        run->end_phase(static_cast<std::uint32_t>(step));
    }
}

} // namespace sotto::diffusion
