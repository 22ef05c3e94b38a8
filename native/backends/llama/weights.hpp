// What llama.cpp allocates for a model, and whoever frees it.
#pragma once

#include <llama.h>
#include <memory>

namespace sotto::llama {

struct FreeLlama {
    void operator()(llama_model* model) const noexcept { llama_model_free(model); }
    void operator()(llama_context* context) const noexcept { llama_free(context); }
};
using Weights = std::unique_ptr<llama_model, FreeLlama>;
using Context = std::unique_ptr<llama_context, FreeLlama>;

} // namespace sotto::llama
