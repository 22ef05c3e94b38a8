// A LoRA adapter of a diffusion model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sotto/module.h>

namespace sotto::diffusion {

// stable-diffusion.cpp reads the file when an image is generated with it, and keeps its tensors until the
// next image.
struct Adapter {
    std::string path;
    std::uint64_t bytes = 0; // of its tensors, and of what a graph needs in addition
};

struct ScaledAdapter {
    const Adapter* adapter = nullptr;
    float scale = 1;
};
using ScaledAdapters = std::vector<ScaledAdapter>;

// Checks the file of an adapter. Throws Error.
Adapter check_adapter(const sotto_adapter_source& source);
// Adapters of a stream.
ScaledAdapters adapters_of(const sotto_stream_desc& desc);

} // namespace sotto::diffusion
