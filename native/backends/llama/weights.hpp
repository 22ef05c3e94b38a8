// What llama.cpp allocates for a model, and whoever frees it.
#pragma once

#include <llama.h>
#include <memory>
#include <string>

namespace sotto::llama {

struct FreeLlama {
    void operator()(llama_model* model) const noexcept { llama_model_free(model); }
    void operator()(llama_context* context) const noexcept { llama_free(context); }
};
using Weights = std::unique_ptr<llama_model, FreeLlama>;
using Context = std::unique_ptr<llama_context, FreeLlama>;

// What a model's file says under `key`; empty: nothing.
inline std::string meta(const llama_model* model, const std::string& key) {
    char text[256] = "";
    llama_model_meta_val_str(model, key.c_str(), text, sizeof text);
    return text;
}

} // namespace sotto::llama
