// What a model's file says about it, for display and for tools.
#pragma once

#include "runtime/json_parts.hpp"

#include <llama.h>

namespace sotto::llama {

// Returns metadata, special tokens, chat templates by name, and the vocabulary's type. Texts come from the
// file: their number and length is limited.
Json card_of(const llama_model* model);

} // namespace sotto::llama
