#include "backends/diffusion/run.hpp"

#include <utility>

namespace sotto::diffusion {
namespace {

thread_local Run* current_run = nullptr;

} // namespace

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

} // namespace sotto::diffusion
