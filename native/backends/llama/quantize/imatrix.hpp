// Importance matrices: how much each column of a weight matrix matters, measured by llama-imatrix.
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

// Reads the file of an importance matrix in GGUF. Throws Error that names the parameter `imatrix`.
Imatrix read_imatrix(const std::string& path);

} // namespace sotto::llama
