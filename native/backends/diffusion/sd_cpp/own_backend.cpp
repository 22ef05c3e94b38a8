// Replaces the choice of a device in stable-diffusion.cpp, which takes the first GPU, or the one that an
// environment variable names.
#include <new>

#include <ggml-backend.h>

#include "backends/diffusion/load_run.hpp"

ggml_backend_t sd_get_default_backend() {
    const auto* load = dynamic_cast<const sotto::diffusion::LoadRun*>(sotto::diffusion::Run::current());
    auto* const device = load != nullptr && load->device() != nullptr
                             ? load->device()
                             : ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    auto* const backend = ggml_backend_dev_init(device, nullptr);
    if (backend == nullptr) { // memory is short
        throw std::bad_alloc();
    }
    return backend;
}
