// Reads a model file whole, from the file system or through the host.
#pragma once

#include <string>

#include <sotto/module.h>

namespace sotto::onnx {

// Throws Error: the file is missing, unreadable, empty or larger than 2 GiB, which protobuf does not have.
std::string read_model_file(const sotto_model_source& source);

} // namespace sotto::onnx
