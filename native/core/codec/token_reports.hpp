// Writes what backends report about tokens: log probabilities, probabilities and ids.
#pragma once

#include <vector>

#include "core/codec/codec.hpp"
#include "text/ordered_json.hpp"

namespace sotto {

// Adds the reports that a request wants to a choice of its response or of a chunk.
void add_reports(
    Ordered& choice, const std::vector<TokenReport>& reports, bool is_chat, const ResponseParts& parts
);

} // namespace sotto
