// A stream: one request while a model prefills and decodes it.
#include "step/stream.hpp"

#include <limits>

namespace sotto::llama {

std::uint32_t Stream::max_piece() const noexcept {
    if (!request.alone) {
        return std::numeric_limits<std::uint32_t>::max();
    }
    const auto held = kv.tokens.held();
    const auto prompt = kv.tokens.prompt_size();
    return held < prompt ? static_cast<std::uint32_t>(prompt - held) : 1;
}

sotto_str Stream::parse(std::string_view text, bool last) {
    deltas = request.parser ? request.parser->deltas(text, last) : "[]";
    return str(deltas);
}

} // namespace sotto::llama
