// How the graphs of stable-diffusion.cpp are computed on a thread.
#pragma once

#include <ggml-backend.h>

namespace sotto::diffusion {

// Lives while the calling thread runs code of stable-diffusion.cpp.
class Run {
public:
    Run() noexcept;
    virtual ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    virtual ggml_status compute(ggml_backend_t backend, ggml_cgraph* graph) = 0;

    // The calling thread's innermost run, or null.
    static Run* current() noexcept;

private:
    Run* outer_;
};

// Computes nothing: buffers are allocated, and their untouched pages take no memory. Measures what an image
// needs.
class DryRun : public Run {
public:
    ggml_status compute(ggml_backend_t, ggml_cgraph*) override { return GGML_STATUS_SUCCESS; }

    // Returns true if the calling thread's innermost run is one: its results are no numbers.
    static bool is_current() noexcept { return dynamic_cast<DryRun*>(Run::current()) != nullptr; }
};

} // namespace sotto::diffusion
