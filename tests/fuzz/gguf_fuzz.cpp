// Fuzzes the check of GGUF files: it refuses with a reason, or ggml can read what it accepts.
//
// Each input is used as it is, and as the start of a longer file of zeros, so that a header alone can be
// accepted.
#include "file/gguf_check.hpp"
#include "gguf_bytes.hpp"

#include <vector>

namespace {

using sotto::fuzz::Bytes;
using sotto::fuzz::show;
using sotto::llama::GgufKind;

bool takes(Bytes bytes, GgufKind kind) {
    try {
        sotto::llama::check_gguf(bytes, kind);
        return true;
    } catch (const sotto::llama::Error& error) { // only this type may be thrown
        if (*error.what() == '\0') {
            std::abort(); // a refusal has a reason
        }
        return false;
    }
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
