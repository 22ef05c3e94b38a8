// Fuzzes the checks of weights files: each refuses with a reason, or a reader that trusts headers can read
// the file.
//
// Each input is used as it is, and as the start of a longer file of zeros.
#include <cstdlib>
#include <cstring>
#include <vector>

#include <gguf.h>

#include "abi/error.hpp"
#include "backends/diffusion/file/model_check.hpp"
#include "backends/diffusion/file/parts.hpp"

namespace {

using namespace sotto::diffusion;

// A file in memory.
class Bytes final : public sotto::gguf::Source {
public:
    explicit Bytes(const std::vector<std::uint8_t>& bytes) : bytes_(bytes) { size_ = bytes.size(); }

    void read(std::uint64_t offset, void* out, std::size_t count) override {
        if (offset > size_ || count > size_ - offset) {
            std::abort(); // a check must not read past the end
        }
        if (count > 0) {
            std::memcpy(out, bytes_.data() + offset, count);
        }
    }

private:
    const std::vector<std::uint8_t>& bytes_;
};

template <typename Body>
bool passes(const Body& body) {
    try {
        body();
        return true;
    } catch (const sotto::Error& error) { // only this type may be thrown
        if (*error.what() == '\0' || error.status() != SOTTO_ERROR_MODEL) {
            std::abort(); // a refusal has a reason
        }
        return false;
    }
}

// What stable-diffusion.cpp relies on.
void expect_sane(const WeightsFile& file) {
    std::uint64_t bytes = 0;
    for (const auto& tensor : file.tensors) {
        std::uint64_t elements = 1;
        for (const auto extent : tensor.shape) {
            elements *= static_cast<std::uint64_t>(extent);
        }
        bytes += tensor.bytes;
        if (tensor.name.empty() || tensor.name.size() > 127 || tensor.shape.size() > 5 ||
            elements > 1U << 31) {
            std::abort();
        }
    }
    if (file.tensors.empty() || bytes > file.bytes) {
        std::abort();
    }
}

// ggml must neither refuse nor abort on what the check accepts.
void expect_readable(const std::vector<std::uint8_t>& bytes) {
    ggml_context* tensors = nullptr;
    gguf_context* file =
        gguf_init_from_buffer(bytes.data(), bytes.size(), {.no_alloc = true, .ctx = &tensors});
    if (file == nullptr) {
        std::abort();
    }
    gguf_free(file);
    ggml_free(tensors);
}

void check(const std::vector<std::uint8_t>& bytes) {
    Bytes source(bytes);
    WeightsFile file;
    if (!passes([&] { file = check_weights(source, ""); })) {
        return;
    }
    expect_sane(file);
    if (file.gguf) {
        expect_readable(bytes);
    }
    parts_of(file);
    for (const std::string_view prefix : {"", "model.diffusion_model.", "text_encoders.llm."}) {
        const LoadedFile loaded{file, prefix};
        passes([&] { check_model({&loaded, 1}); });
    }
    passes([&] { check_lora(file); });
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t kTail = 1 << 16;
    std::vector<std::uint8_t> bytes(data, data + size);
    check(bytes);
    bytes.resize(size + kTail);
    check(bytes);
    return 0;
}
