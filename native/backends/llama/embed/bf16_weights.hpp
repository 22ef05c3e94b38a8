// Weights of an encoder in bfloat16: see kBf16Weights of matmul/matmul.hpp.
#pragma once

#include <llama.h>

#include "file/gguf_check.hpp"
#include "model/options.hpp"

namespace sotto::llama {

// Returns true if narrow_weights() converts weights of the file. They must not be mapped then: they are
// changed in memory.
bool narrows_weights(const GgufFacts& facts, const Options& options);
// Converts the F16 weights of an encoder's layers to BF16, in place, so that no product has to convert them.
void narrow_weights(const llama_model* model);
// Lets a CPU with AVX512_BF16, and AMX if it has that too, compute products of the model's weights in
// bfloat16.
void allow_bf16(const llama_model* model);

} // namespace sotto::llama
