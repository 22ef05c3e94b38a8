// Validates GGUF files before llama.cpp reads them: llama.cpp aborts the process on some invalid files.
#pragma once

#include "file/source.hpp"

#include <bitset>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sotto::llama {

// One metadata entry of a GGUF file, reduced to the properties that the checks need.
struct GgufValue {
    std::uint32_t type = 0; // gguf_type of the value, or of an array's elements
    bool is_array = false;
    std::uint64_t count = 1;
    std::vector<double> numbers; // the value, or the first kGgufKeptNumbers elements of an array
    std::string text;            // a single short string
    double cubes = 0;            // token list only: sum of the cubes of the tokens' lengths in bytes
    std::bitset<256> begins;     // token list only, decoded as for RWKV: first bytes of all tokens
    std::bitset<256> alone;      // token list only, decoded as for RWKV: tokens of a single byte
};
using GgufValues = std::map<std::string, GgufValue, std::less<>>;

constexpr std::size_t kGgufKeptNumbers = 1024;

struct GgufTensor {
    std::string name;
    std::uint32_t type = 0; // ggml_type
    std::vector<std::uint64_t> extents;
    std::uint64_t elements = 0;
    std::uint64_t bytes = 0;
    std::uint64_t offset = 0; // offset of the tensor's data, relative to the start of all data
};
using GgufTensors = std::map<std::string, GgufTensor, std::less<>>;

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
double gguf_number(const GgufValues& values, std::string_view key, double otherwise);

} // namespace sotto::llama
