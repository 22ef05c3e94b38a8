// Operations that need a vocabulary only: tokenize and detokenize.
#include "token/token_operations.hpp"

#include "request/fields.hpp"
#include "runtime/json_parts.hpp"

namespace sotto::llama {
namespace {

// Returns a token's text as JSON: a string, or an array of bytes if it is not valid UTF-8.
Json piece_json(const std::string& piece) {
    if (is_utf8(piece)) {
        return piece;
    }
    auto bytes = Json::array();
    for (const unsigned char byte : piece) {
        bytes.push_back(byte);
    }
    return bytes;
}

} // namespace

std::string tokenize(
    const Json& body,
    const Tokenizer& tokenizer,
    const std::function<void(std::vector<llama_token>&)>& add_special
) {
    auto tokens =
        tokenizer.cut(value_or<std::string>(body, field::content, ""), flag(body, field::parse_special));
    if (flag(body, field::add_special)) {
        add_special(tokens);
    }
    if (!flag(body, field::with_pieces)) {
        return text_of({{"tokens", tokens}});
    }
    auto pieces = Json::array();
    for (const auto token : tokens) {
        pieces.push_back({{"id", token}, {"piece", piece_json(tokenizer.piece_of(token))}});
    }
    return text_of({{"tokens", std::move(pieces)}});
}

std::string detokenize(const Json& body, const Tokenizer& tokenizer) {
    std::string whole;
    std::string text;
    const bool special = flag(body, field::special);
    const auto& tokens = body.at(field::tokens.name);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const auto token = tokens[i].get<std::int64_t>();
        if (!tokenizer.exists(token)) {
            throw invalid_argument(
                "tokens[" + std::to_string(i) + "]",
                std::to_string(token),
                "a token of the model, 0 to " + std::to_string(tokenizer.size() - 1)
            );
        }
        if (special) {
            whole += tokenizer.piece_of(static_cast<llama_token>(token));
        } else {
            tokenizer.text_of(static_cast<llama_token>(token), text);
            whole += text;
        }
    }
    return text_of({{"content", whole}});
}

} // namespace sotto::llama
