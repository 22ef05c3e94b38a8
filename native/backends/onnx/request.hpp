// The fields of a request to remove a background.
#pragma once

#include <string>
#include <string_view>

#include "backends/onnx/options.hpp"
#include "image/image.hpp"

namespace sotto::onnx {

struct MatteRequest {
    image::Image image;
    bool mask_only = false;
    bool refine_edges = true;
    std::string format = "png"; // or "webp" or "raw"
    int compression = 100;
    bool as_data = false; // the file as data of a step, not as base64
};

// Reads a request's body and decodes its image. Throws Error(SOTTO_ERROR_ARGUMENT).
MatteRequest read_request(std::string_view body, std::uint32_t max_pixels);

} // namespace sotto::onnx
