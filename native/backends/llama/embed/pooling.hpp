// Chooses how the token vectors of an embedding model become the vector of a text, or stay as they are.
#pragma once

#include "model/options.hpp"

#include <llama.h>

namespace sotto::llama {

// Maximum texts of one batch.
constexpr std::uint32_t kMaxTexts = 64;

// Returns the pooling of a model: that of `options`, or else the one that the model's file names. None: the
// model generates text. Throws Error if the model cannot embed texts with this pooling.
Options::Pooling pooling_of(const llama_model* model, const Options& options);
const char* name_of(Options::Pooling pooling);
enum llama_pooling_type type_of(Options::Pooling pooling);

// Sets the options that depend on the model: attention, batch and number of streams. Throws Error for options
// that have no meaning for an embedding model.
void choose_embedding_form(const llama_model* model, Options& options);

// Returns the number of values that the model computes for a text, or with Tokens for each token.
std::size_t values_of(const llama_model* model, const Options& options);

} // namespace sotto::llama
