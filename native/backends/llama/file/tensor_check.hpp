// Checks the numbers of a file's tensors.
#pragma once

#include "file/gguf_check.hpp"

#include <functional>

namespace sotto::llama {

// Reads all tensors of `source`. Throws Error(SOTTO_ERROR_MODEL) that names the first tensor with NaN,
// infinite or invalid numbers. `progress` receives the share done, 0 to 1; it throws to end the check.
void check_tensors(Source& source, const GgufFacts& facts, const std::function<void(float)>& progress);

} // namespace sotto::llama
