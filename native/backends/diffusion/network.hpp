// A diffusion model as stable-diffusion.cpp has it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ggml-backend.h>
#include <sotto/module.h>

#include "backends/diffusion/adapter.hpp"
#include "backends/diffusion/memory_meter.hpp"
#include "backends/diffusion/model_files.hpp"
#include "backends/diffusion/options.hpp"
#include "backends/diffusion/progress.hpp"
#include "backends/diffusion/request.hpp"
#include "backends/diffusion/sd_cpp/sd_facts.hpp"
#include "devices/lost.hpp"

namespace sotto::diffusion {

// Where a model computes.
struct Place {
    ggml_backend_dev_t device = nullptr; // null: the CPU
    llama::Loss loss;                    // of the device
};

// Pixels without alpha: rows of red, green and blue from top to bottom without padding.
struct RgbImage {
    std::uint32_t width = 0;
    std::uint32_t height = 0;
    std::vector<std::uint8_t> pixels;
};

// Each call runs within a llama::Call. One image at a time: the model has compute buffers of its own.
class Network {
public:
    // Loads a model onto `place`. `report` gets the progress, 0 to 1. Throws Error.
    Network(const ModelFiles& files, Place place, const std::function<void(float)>& report);
    ~Network();
    Network(const Network&) = delete;
    Network& operator=(const Network&) = delete;

    // Generates image `index` of a request under the calling thread's Run. nullopt: the run aborted a graph.
    // Throws Error.
    std::optional<RgbImage>
    generate(const PictureRequest& request, std::uint32_t index, const ScaledAdapters& adapters = {});
    // What an image of one denoise step needs.
    struct Needs {
        std::uint64_t bytes = 0; // of compute buffers
        PhaseCosts costs;
    };
    // Measures what the first image of `request` needs, without computing it. Throws Error.
    Needs measure(const PictureRequest& request);
    // Refuses later images that need more bytes of compute buffers.
    void limit_to(std::uint64_t bytes);

    // Raises the limit of later images by `bytes`, or lowers it if they are below 0.
    void allow(std::int64_t bytes) { meter_.limit_to(most_ += static_cast<std::uint64_t>(bytes)); }

    const Facts& facts() const noexcept { return facts_; }
    std::uint64_t weights() const noexcept { return weights_; }
    const llama::Loss& loss() const noexcept { return place_.loss; }

private:
    struct Free {
        void operator()(sd_ctx_t* context) const noexcept { free_sd_ctx(context); }
    };

    const Options options_;
    const Place place_;
    MemoryMeter meter_; // outlives the context
    std::unique_ptr<sd_ctx_t, Free> context_;
    Facts facts_;
    std::uint64_t weights_ = 0;
    std::uint64_t most_ = 0; // bytes that images may take, with the weights
};

} // namespace sotto::diffusion
