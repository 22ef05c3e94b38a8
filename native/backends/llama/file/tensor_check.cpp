// Checks the numbers of a file's tensors.
#include "file/tensor_check.hpp"

#include <algorithm>
#include <ggml.h>

namespace sotto::llama {

void check_tensors(Source& source, const GgufFacts& facts, const std::function<void(float)>& progress) {
    constexpr std::uint64_t kPiece = 1 << 20; // bytes, rounded down to whole blocks
    std::vector<char> bytes;
    std::uint64_t done = 0;
    for (const auto& [name, tensor] : facts.tensors) {
        const auto type = static_cast<ggml_type>(tensor.type);
        const auto piece = kPiece / ggml_type_size(type) * ggml_type_size(type);
        for (std::uint64_t at = 0; at < tensor.bytes; at += piece) {
            progress(static_cast<float>(static_cast<double>(done) / static_cast<double>(facts.weights)));
            bytes.resize(std::min(piece, tensor.bytes - at));
            source.read(facts.data + tensor.offset + at, bytes.data(), bytes.size());
            done += bytes.size();
            if (!ggml_validate_row_data(type, bytes.data(), bytes.size())) {
                throw Error(
                    SOTTO_ERROR_MODEL,
                    "tensor '" + name +
                        "' holds NaN, infinite or invalid numbers; copy or convert the model again"
                );
            }
        }
    }
}

} // namespace sotto::llama
