// The llama backend of one engine: the engine's host functions,
// the devices, and the threads that its models share.
#pragma once

#include "devices/cpu/threads.hpp"
#include "devices/device.hpp"

#include <string>

namespace sotto::llama {

struct Backend {
    Backend(const sotto_backend_host& lent, std::vector<Device> found)
        : host(lent), devices(std::move(found)) {}

    const sotto_backend_host host;
    const std::vector<Device> devices;
    ThreadPools pools;
    std::string description;
};

} // namespace sotto::llama
