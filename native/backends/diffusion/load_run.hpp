// What a thread that loads a model does for stable-diffusion.cpp.
#pragma once

#include <atomic>
#include <functional>
#include <new>

#include "backends/diffusion/run.hpp"

namespace sotto::diffusion {

class LoadRun : public Run {
public:
    // `report` gets the share of the tensors that are loaded, 0 to 1, and must not throw: other threads load.
    // `device`: where the model computes; null: the CPU.
    LoadRun(const std::function<void(float)>& report, ggml_backend_dev_t device)
        : report_(report), device_(device) {}

    ggml_status compute(ggml_backend_t backend, ggml_cgraph* graph) override {
        return ggml_backend_graph_compute(backend, graph);
    }
    void report(float share) const { report_(share); }
    ggml_backend_dev_t device() const noexcept { return device_; }

    // Called on any thread that loads, if it failed.
    void fail() const noexcept { failed_ = true; }
    // Throws std::bad_alloc if a thread failed, which is for lack of memory: the files are checked.
    void check() const {
        if (failed_) {
            throw std::bad_alloc();
        }
    }

private:
    mutable std::atomic<bool> failed_{false};
    const std::function<void(float)>& report_;
    const ggml_backend_dev_t device_;
};

} // namespace sotto::diffusion
