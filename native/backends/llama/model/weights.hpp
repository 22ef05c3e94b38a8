// Owners of what llama.cpp allocates for a model.
#pragma once

#include "devices/lost.hpp"

#include <llama.h>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// Declared in llama.cpp's llama-model.h, which brings all of its insides.
const std::vector<std::pair<std::string, ggml_tensor*>>&
llama_internal_get_tensor_map(const llama_model* model);

namespace sotto::llama {

struct FreeModel {
    void operator()(llama_model* model) const noexcept { llama_model_free(model); }
};
using Weights = std::unique_ptr<llama_model, FreeModel>;

// ggml waits for a context's device before it frees it. On a lost one that ends the process, so it stays.
struct FreeContext {
    void operator()(llama_context* context) const noexcept;
    Loss loss = {}; // of what it is on
};
using Context = std::unique_ptr<llama_context, FreeContext>;

// What a model's file says under `key`; empty: nothing.
inline std::string meta(const llama_model* model, const std::string& key) {
    char text[256] = "";
    llama_model_meta_val_str(model, key.c_str(), text, sizeof text);
    return text;
}

} // namespace sotto::llama
