// Fuzzes the check of LoRA adapters: it refuses with a reason, or ggml can read what it accepts.
#include "file/adapter_check.hpp"
#include "gguf_bytes.hpp"

namespace {

using sotto::fuzz::Bytes;
using sotto::llama::AdapterCheck;

// The tensor shapes of a small model, which the corpus's adapters fit.
const sotto::llama::AdapterBase& base() {
    static const sotto::llama::AdapterBase model{
        "llama",
        {{"token_embd.weight", {32, 64, 1, 1}},
         {"blk.0.attn_norm.weight", {32, 1, 1, 1}},
         {"blk.0.attn_q.weight", {32, 32, 1, 1}},
         {"blk.0.attn_k.weight", {32, 16, 1, 1}},
         {"blk.0.ffn_up_exps.weight", {32, 16, 2, 1}}},
    };
    return model;
}

bool takes(Bytes bytes, AdapterCheck what) {
    try {
        const auto facts = check_adapter(bytes, base(), what);
        if (facts.weights == 0 || facts.widest == 0) {
            std::abort(); // an accepted adapter has at least one pair with numbers
        }
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
    const bool header = takes({data, size, size}, AdapterCheck::Header);
    if (takes({data, size, size}, AdapterCheck::All)) {
        if (!header) {
            std::abort(); // the full check is stricter
        }
        sotto::fuzz::show(data, size);
    }
    return 0;
}
