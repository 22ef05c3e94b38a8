// Validates GGUF files before llama.cpp reads them: llama.cpp aborts the process on some invalid files.
#pragma once

#include "file/source.hpp"
#include "gguf/header.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace sotto::llama {

using GgufValue = gguf::Value;
using GgufValues = gguf::Values;
using GgufTensor = gguf::Tensor;
using GgufTensors = gguf::Tensors;

// Properties of a validated file.
struct GgufFacts {
    std::string architecture;
    std::uint32_t trained_context = 0;
    std::uint64_t weights = 0; // bytes of all tensors
    bool data_aligned = false; // the data's alignment allows llama.cpp to map the file
    bool causal = true;        // false: an encoder, whose tokens attend to all tokens of a text
    std::uint64_t data = 0;    // offset of the tensors' data
    GgufValues values;         // set for an adapter only
    GgufTensors tensors;       // empty for a projector
    // estimated bytes of the vocabulary in memory, which llama.cpp does not report
    std::uint64_t vocabulary = 0;
};

enum class GgufKind {
    Model,
    Projector, // encodes images or sounds; read by mtmd
    Adapter    // LoRA adapter; adapter_check.cpp checks its values and tensors
};

// Validates the header of a file, and returns the file's properties. Throws Error(SOTTO_ERROR_MODEL) with the
// reason if the file is invalid.
GgufFacts check_gguf(Source& source, GgufKind kind = GgufKind::Model);

// Checks metadata only: refuses values that make llama.cpp abort, divide by zero, or allocate without bound.
void check_gguf_values(const GgufValues& values);
// Checks the metadata that mtmd reads.
void check_projector_values(const GgufValues& values);
// Checks that ggml can compute with each tensor's type in its role.
void check_gguf_tensors(const GgufTensors& tensors);
// Checks that tensors exist which mtmd uses without checking, and that sizes in the metadata match the
// tensors.
void check_projector_tensors(const GgufValues& values, const GgufTensors& tensors);
// Returns the number stored under `key`, or `otherwise` if there is no single number.
inline double gguf_number(const GgufValues& values, std::string_view key, double otherwise) {
    return gguf::number_of(values, key, otherwise);
}

} // namespace sotto::llama
