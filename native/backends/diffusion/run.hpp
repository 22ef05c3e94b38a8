// How the graphs of stable-diffusion.cpp are computed on a thread.
#pragma once

#include <cstdint>

#include <ggml-backend.h>

#include "backends/diffusion/progress.hpp"

namespace sotto::diffusion {

// Lives while the calling thread runs code of stable-diffusion.cpp.
class Run {
public:
    Run() noexcept;
    virtual ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    virtual ggml_status compute(ggml_backend_t backend, ggml_cgraph* graph) = 0;
    // Called when the prompt is encoded, with 0, and after each denoise step, from 1. Some samplers repeat 0.
    virtual void end_phase(std::uint32_t) {}

    // The calling thread's innermost run, or null.
    static Run* current() noexcept;

private:
    Run* outer_;
};

// Computes nothing: buffers are allocated, and their untouched pages take no memory. Measures what an image
// of one denoise step needs.
class DryRun : public Run {
public:
    ggml_status compute(ggml_backend_t backend, ggml_cgraph* graph) override;
    void end_phase(std::uint32_t phase) override { phase_ = phase == 0 ? &costs_.step : &costs_.after; }

    const PhaseCosts& costs() const noexcept { return costs_; }

    // Returns true if the calling thread's innermost run is one: its results are no numbers.
    static bool is_current() noexcept { return dynamic_cast<DryRun*>(Run::current()) != nullptr; }

private:
    PhaseCosts costs_;
    double* phase_ = &costs_.before;
};

} // namespace sotto::diffusion
