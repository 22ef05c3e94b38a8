// Checks a model file before ONNX Runtime reads it.
#pragma once

#include <cstdint>
#include <string_view>

namespace sotto::onnx {

// What a file says of its input.
struct ModelFacts {
    std::uint32_t height = 0; // 0: of any size
    std::uint32_t width = 0;
    std::uint32_t size = 0; // sotto.size of the metadata; 0: none
};

// Checks that `file` is an ONNX model: well-formed protobuf with an ir_version, and a graph with nodes,
// inputs and outputs, whose tensors are all inside the file. Throws Error(SOTTO_ERROR_MODEL).
ModelFacts check_model(std::string_view file);

} // namespace sotto::onnx
