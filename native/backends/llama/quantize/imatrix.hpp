// Importance matrices: how much each column of a weight matrix matters, as llama-imatrix
// measures it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sotto::llama {

struct Imatrix {
    std::map<std::string, std::vector<float>> entries; // by the name of the tensor
    std::string dataset;                               // text that it was measured on; may be empty
    std::uint32_t chunks = 0;                          // of that text
};

// Returns true if the file of the parameter `imatrix` is GGUF: a matrix, not a text to measure one on. Throws
// Error that names the parameter if it cannot be read.
bool is_gguf(const std::string& path);
// Reads the file of an importance matrix in GGUF. Throws Error that names the parameter `imatrix`.
Imatrix read_imatrix(const std::string& path);

} // namespace sotto::llama
