// Owning pointers to the objects that llama.cpp allocates for a model.
#pragma once

#include "devices/lost.hpp"

#include <llama.h>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// Declared in llama.cpp's llama-model.h, which is not included because it exposes all internals of llama.cpp.
const std::vector<std::pair<std::string, ggml_tensor*>>&
llama_internal_get_tensor_map(const llama_model* model);

namespace sotto::llama {

struct FreeModel {
    void operator()(llama_model* model) const noexcept { llama_model_free(model); }
};
using Weights = std::unique_ptr<llama_model, FreeModel>;

// Frees a context unless its device is lost. ggml waits for the device first, and on a lost device
// that wait terminates the process, so the context is leaked.
struct FreeContext {
    void operator()(llama_context* context) const noexcept;
    Loss loss = {}; // state of the context's device
};
using Context = std::unique_ptr<llama_context, FreeContext>;

// Returns the value of `key` in the metadata of a model's file; empty if it is missing.
inline std::string meta(const llama_model* model, const std::string& key) {
    char text[256] = "";
    llama_model_meta_val_str(model, key.c_str(), text, sizeof text);
    return text;
}

} // namespace sotto::llama
