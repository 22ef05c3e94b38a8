// Quantizes a model's file.
#pragma once

#include <sotto/module.h>

namespace sotto::llama {

// Quantizes the file of `desc`. The new file equals what llama-quantize writes. Throws Error:
// SOTTO_ERROR_ARGUMENT for an unknown type, or one that needs an importance matrix; SOTTO_ERROR_NOT_FOUND and
// SOTTO_ERROR_MODEL for the files; SOTTO_ERROR_CANCELLED if a callback of `desc` ends the quantization.
void quantize(const sotto_backend_host& host, const sotto_quantize_source& desc);

} // namespace sotto::llama
