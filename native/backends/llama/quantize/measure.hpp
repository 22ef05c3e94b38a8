// Measures an importance matrix: runs a model on a text and sums the squares of what its matrices are given.
#pragma once

#include "quantize/imatrix.hpp"

#include <sotto/module.h>

#include <functional>
#include <string>

namespace sotto::llama {

struct MeasureRequest {
    std::string model; // path of a GGUF file
    std::string text;  // path of a text file in UTF-8
    std::uint32_t threads = 1;
    // Called with a fraction from 0 to 1 on the calling thread. Returns false to end the measurement.
    std::function<bool(float)> progress;
};

// Returns the matrix that llama-imatrix measures. Throws Error: SOTTO_ERROR_ARGUMENT for a text that is too
// short or no text, SOTTO_ERROR_UNSUPPORTED if the model generates no text, SOTTO_ERROR_CANCELLED if
// `progress` ends the measurement.
Imatrix measure_imatrix(const sotto_backend_host& host, const MeasureRequest& request);

} // namespace sotto::llama
