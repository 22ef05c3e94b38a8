// Decides whether a file may be shown to llama.cpp, which aborts the process over some that it may not.
#pragma once

#include "file/source.hpp"

#include <bitset>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sotto::llama {

// One entry of a GGUF's metadata, as far as our rules look at it.
struct GgufValue {
    std::uint32_t type = 0; // gguf_type, of the elements if it is an array
    bool is_array = false;
    std::uint64_t count = 1;
    std::vector<double> numbers; // the value, or the first kGgufKeptNumbers elements
    std::string text;            // of a single string, if it is short
    double cubes = 0;            // of tokens: the sum of the cubes of their lengths in bytes
    std::bitset<256> begins;     // of tokens as RWKV's tokenizer reads them: bytes that one begins with,
    std::bitset<256> alone;      // and those that are one
};
using GgufValues = std::map<std::string, GgufValue, std::less<>>;

constexpr std::size_t kGgufKeptNumbers = 1024;

struct GgufTensor {
    std::string name;
    std::uint32_t type = 0; // ggml_type
    std::vector<std::uint64_t> extents;
    std::uint64_t elements = 0;
    std::uint64_t bytes = 0;
    std::uint64_t offset = 0; // of its data, from the beginning of all data
};
using GgufTensors = std::map<std::string, GgufTensor, std::less<>>;

// What a file says of itself, after it was checked.
struct GgufFacts {
    std::string architecture;
    std::uint32_t trained_context = 0;
    std::uint64_t weights = 0;    // bytes of all tensors
    bool data_aligned = false;    // enough for llama.cpp to map it
    std::uint64_t data = 0;       // where the tensors' data begins
    GgufValues values;            // of an adapter
    GgufTensors tensors;          // likewise
    std::uint64_t vocabulary = 0; // bytes that llama.cpp keeps it in, about: it has no figure of that
};

enum class GgufKind {
    Model,
    Projector, // of images or sounds, for mtmd
    Adapter    // whose values and tensors adapter_check.cpp looks at
};

// Reads the header and throws Error(SOTTO_ERROR_MODEL) that says what is wrong with it.
GgufFacts check_gguf(Source& source, GgufKind kind = GgufKind::Model);

// The rules for metadata alone: what llama.cpp would abort over, divide by, or allocate by.
void check_gguf_values(const GgufValues& values);
// The same for what mtmd reads.
void check_projector_values(const GgufValues& values);
// The rules for tensors: types that their roles can be computed with.
void check_gguf_tensors(const GgufTensors& tensors);
// Tensors that mtmd computes with whether they are there or not, and sizes that the file has to bear out.
void check_projector_tensors(const GgufValues& values, const GgufTensors& tensors);
// The one-number value of `key`; `otherwise` if there is none.
double gguf_number(const GgufValues& values, std::string_view key, double otherwise);

} // namespace sotto::llama
