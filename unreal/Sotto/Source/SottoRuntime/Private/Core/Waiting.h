#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "Core/Outcome.h"

// Requests whose result a worker thread waits for. Never call them in a frame.

namespace SottoCore
{

/**
 * Embeds texts with a loaded model. Waits for the vectors; ends with an error once the engine is destroyed.
 * A text that is longer than the model's context is embedded by its beginning.
 *
 * @param Vectors  Out: a vector for each text.
 */
FOutcome EmbedAndWait(
    const FApi& Api,
    sotto_engine* Engine,
    const std::string& Model,
    const std::vector<std::string>& Texts,
    std::vector<std::vector<float>>& Vectors
);

/** Counts the tokens of a text for a loaded model. Waits for the tokenizer. */
FOutcome CountTokensAndWait(
    const FApi& Api, sotto_engine* Engine, const std::string& Model, const std::string& Text, size_t& Tokens
);

} // namespace SottoCore
