// Validates the header of a GGUF file: keys, values and the layout of the tensors.
#pragma once

#include "gguf/reader.hpp"

#include <bitset>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sotto::gguf {

// One metadata entry of a GGUF file, reduced to the properties that the checks need.
struct Value {
    std::uint32_t type = 0; // gguf_type of the value, or of an array's elements
    bool is_array = false;
    std::uint64_t count = 1;
    std::vector<double> numbers; // the value, or the first kKeptNumbers elements of an array
    std::string text;            // a single short string
    double cubes = 0;            // token list only: sum of the cubes of the tokens' lengths in bytes
    std::bitset<256> begins;     // token list only, decoded as for RWKV: first bytes of all tokens
    std::bitset<256> alone;      // token list only, decoded as for RWKV: tokens of a single byte
};
using Values = std::map<std::string, Value, std::less<>>;

constexpr std::size_t kKeptNumbers = 1024;

struct Tensor {
    std::string name;
    std::uint32_t type = 0; // ggml_type
    std::vector<std::uint64_t> extents;
    std::uint64_t elements = 0;
    std::uint64_t bytes = 0;
    std::uint64_t offset = 0; // offset of the tensor's data, relative to the start of all data
};
using Tensors = std::map<std::string, Tensor, std::less<>>;

// The part of a header before the tensors.
struct Header {
    std::uint64_t tensors = 0; // number of tensors
    std::uint64_t alignment = 0;
    Values values;
};

struct Layout {
    std::uint64_t data = 0;  // offset of the tensors' data
    std::uint64_t bytes = 0; // bytes of all tensors
    Tensors tensors;
};

// Reads the `value.count` strings of the array `key`, which the header's reader would skip. Returns false,
// and reads nothing, to have them skipped.
using StringsReader = std::function<bool(Reader& reader, const std::string& key, Value& value)>;

// Reads the values of a file from its start. Throws Error(SOTTO_ERROR_MODEL) with the reason if the file is
// invalid.
Header read_header(Reader& reader, const StringsReader& strings = {});
// Reads the tensors after the header. ggml reads every file whose header and tensors were read without an
// error. Throws Error(SOTTO_ERROR_MODEL) with the reason if the file is invalid.
Layout read_tensors(Reader& reader, const Header& header);

// Reads the length of string `index` of the array `key`. Throws Error(SOTTO_ERROR_MODEL) if it exceeds
// `max_bytes`.
std::uint64_t
read_string_size(Reader& reader, const std::string& key, std::uint64_t index, std::uint64_t max_bytes);
// Returns the number stored under `key`, or `otherwise` if there is no single number.
double number_of(const Values& values, std::string_view key, double otherwise);

} // namespace sotto::gguf
