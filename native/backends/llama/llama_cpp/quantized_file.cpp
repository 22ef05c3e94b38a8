#include "quantized_file.hpp"

#include <ggml.h>

namespace sotto::llama {
namespace {

thread_local QuantizeOutput* current_output = nullptr;

} // namespace

QuantizeOutput* QuantizeOutput::current() noexcept {
    return current_output;
}

QuantizeOutput::Scope::Scope(QuantizeOutput* output) noexcept
    : outer_(std::exchange(current_output, output)) {}

QuantizeOutput::Scope::~Scope() {
    current_output = outer_;
}

QuantizedFile::QuantizedFile(const std::string&, std::ios::openmode) : output_(QuantizeOutput::current()) {}

// llama-quant.cpp writes padding byte by byte.
void QuantizedFile::write(const char* bytes, std::size_t size) {
    constexpr std::size_t kPiece = 1 << 20;
    pending_.append(bytes, size);
    if (pending_.size() >= kPiece || !output_->advance(0)) {
        flush();
    }
}

void QuantizedFile::seekp(std::uint64_t offset) {
    flush();
    offset_ = offset;
}

void QuantizedFile::close() {
    flush();
    output_ = nullptr;
}

void QuantizedFile::flush() {
    output_->write(offset_, pending_.data(), pending_.size());
    offset_ += pending_.size();
    pending_.clear();
}

} // namespace sotto::llama

// llama-quant.cpp calls this instead of ggml_quantize_chunk().
size_t sotto_quantize_chunk(
    ggml_type type,
    const float* numbers,
    void* blocks,
    int64_t first,
    int64_t rows,
    int64_t row_size,
    const float* importance
) {
    auto* output = sotto::llama::QuantizeOutput::current();
    if (output != nullptr && !output->advance(static_cast<std::uint64_t>(rows * row_size))) {
        return 0;
    }
    return ggml_quantize_chunk(type, numbers, blocks, first, rows, row_size, importance);
}
