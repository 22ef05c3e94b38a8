// A model of this backend.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <sotto/module.h>

#include "backends/diffusion/adapter.hpp"
#include "backends/diffusion/network.hpp"
#include "backends/diffusion/picture.hpp"
#include "devices/device.hpp"
#include "runtime/fence.hpp"

namespace sotto::diffusion {

class Model {
public:
    // Loads a model and measures the memory of its largest image. Throws Error, SOTTO_ERROR_CANCELLED if
    // `source`'s progress callback returned nonzero. `host` outlives the model.
    Model(
        const sotto_model_source& source,
        const sotto_backend_host& host,
        const std::vector<llama::Device>& devices
    );

    // Called on any thread, in parallel to anything but the destructor. Throws Error.
    std::unique_ptr<Picture> prepare(std::string_view body) const;
    std::unique_ptr<Adapter> open_adapter(const sotto_adapter_source& source);
    void close_adapter(std::unique_ptr<Adapter> adapter);
    void describe(sotto_model_info& info) const;
    const sotto_backend_host& host() const noexcept { return host_; }

    std::string why; // the last failure

private:
    void load(const sotto_model_source& source, const Place& place);
    void measure();
    // Measures images that start from an image, or from noise. Raises `bytes` to what the larger one needs.
    ExpectedCosts measure_images(bool from_image, std::uint64_t& bytes);
    PhaseCosts expected(const PictureRequest& request) const noexcept;

    const sotto_backend_host& host_;
    const Options options_;
    const llama::Device* const device_; // null: the CPU
    const llama::Loss loss_;            // of the device
    std::unique_ptr<Network> network_;
    std::unique_ptr<Limits> limits_;
    std::uint64_t compute_ = 0; // bytes
    ExpectedCosts from_noise_;  // if generation starts from noise
    ExpectedCosts from_image_;
    std::string description_;
};

// Fills in what is known of a model without loading it. Throws Error.
void measure(
    const sotto_model_source& source, const std::vector<llama::Device>& devices, sotto_model_info& info
);

} // namespace sotto::diffusion
