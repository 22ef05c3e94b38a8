// One engine's llama backend: what that engine lends it, and the threads that its models share.
#pragma once

#include "threads.hpp"

#include <string>

namespace sotto::llama {

struct Backend {
    explicit Backend(const sotto_backend_host& lent) : host(lent) {}

    const sotto_backend_host host;
    ThreadPools pools;
    std::string description;
};

} // namespace sotto::llama
