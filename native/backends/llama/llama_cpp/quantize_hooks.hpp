// Redirects the output, the threads and the kernels of llama-quant.cpp to quantized_file.hpp. Included before
// llama-quant.cpp; the headers that it includes come first, so that only its own code is redirected.
#pragma once

#include "llama-ext.h"
#include "llama-impl.h"
#include "llama-model-loader.h"
#include "llama-model.h"
#include "llama.h"

#include "quantized_file.hpp"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstring>
#include <fstream>
#include <mutex>
#include <regex>
#include <thread>
#include <unordered_map>

size_t sotto_quantize_chunk(
    ggml_type type,
    const float* numbers,
    void* blocks,
    int64_t first,
    int64_t rows,
    int64_t row_size,
    const float* importance
);

namespace std {
using sotto_quantized_file = ::sotto::llama::QuantizedFile;
using sotto_quantize_thread = ::sotto::llama::QuantizeThread;
} // namespace std

#define ofstream sotto_quantized_file
#define thread sotto_quantize_thread
#define ggml_quantize_chunk sotto_quantize_chunk
