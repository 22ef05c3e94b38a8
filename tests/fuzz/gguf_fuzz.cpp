// Feeds bytes to our check of GGUF files: it refuses with a reason, or what it takes ggml can read.
//
// Each input is read as it is, and as the beginning of a longer file of zeros, so that a header alone can be
// taken.
#include "file/gguf_check.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include <gguf.h>

namespace {

using sotto::llama::GgufKind;

class Bytes final : public sotto::llama::Source {
public:
    Bytes(const std::uint8_t* data, std::size_t held, std::uint64_t size) : data_(data), held_(held) {
        size_ = size;
    }

    void read(std::uint64_t offset, void* out, std::size_t count) override {
        if (offset > size_ || count > size_ - offset) {
            std::abort(); // it was to look before it reads
        }
        std::memset(out, 0, count);
        if (offset < held_) {
            std::memcpy(out, data_ + offset, std::min<std::uint64_t>(count, held_ - offset));
        }
    }
    std::FILE* file() override { return nullptr; }
    bool mappable() const noexcept override { return false; }

private:
    const std::uint8_t* data_;
    std::size_t held_;
};

bool takes(Bytes bytes, GgufKind kind) {
    try {
        sotto::llama::check_gguf(bytes, kind);
        return true;
    } catch (const sotto::llama::Error& error) { // nothing else may be thrown
        if (*error.what() == '\0') {
            std::abort(); // a refusal has a reason
        }
        return false;
    }
}

// What we take, ggml is shown, and must neither refuse nor abort over.
void show(const std::uint8_t* data, std::size_t size) {
    ggml_context* tensors = nullptr;
    gguf_context* file = gguf_init_from_buffer(data, size, {.no_alloc = true, .ctx = &tensors});
    if (file == nullptr) {
        std::abort();
    }
    gguf_free(file);
    ggml_free(tensors);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::uint64_t kTail = 1 << 20;
    for (const auto kind : {GgufKind::Model, GgufKind::Projector}) {
        if (takes({data, size, size}, kind)) {
            show(data, size);
        }
        if (takes({data, size, size + kTail}, kind)) {
            std::vector<std::uint8_t> whole(data, data + size);
            whole.resize(size + kTail);
            show(whole.data(), whole.size());
        }
    }
    return 0;
}
