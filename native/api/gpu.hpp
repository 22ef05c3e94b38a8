// What a host hands over of a card, read.
#pragma once

#include <sotto/gpu.h>

#include "core/settings.hpp"

namespace sotto::api {

// Throws Error(SOTTO_ERROR_ARGUMENT) where it isn't exactly one thing, whole.
gpu::Renderer read_gpu(const sotto_gpu_desc& asked);

} // namespace sotto::api
