// Tokenizes prompts, and describes the tokens of a vocabulary.
#include "token/tokenizer.hpp"

#include "runtime/guard.hpp"
#include "token/long_runs.hpp"

#include <algorithm>

namespace sotto::llama {
namespace {

// Returns the bytes of a token, or the spelling of a special token.
std::string piece_of(const llama_vocab* vocab, llama_token token) {
    std::string piece(32, '\0');
    auto size = llama_token_to_piece(vocab, token, piece.data(), 32, 0, true);
    if (size < 0) {
        piece.resize(static_cast<std::size_t>(-size));
        size = llama_token_to_piece(vocab, token, piece.data(), -size, 0, true);
    }
    piece.resize(static_cast<std::size_t>(std::max(size, 0)));
    return piece;
}

} // namespace

Tokenizer::Tokenizer(const llama_vocab* vocab) : vocab_(vocab) {
    std::string text;
    for (llama_token token = 0; token < size(); ++token) {
        const auto attributes = llama_vocab_get_attr(vocab, token);
        const std::string spelling = llama_vocab_get_text(vocab, token);
        if ((attributes & (LLAMA_TOKEN_ATTR_CONTROL | LLAMA_TOKEN_ATTR_UNKNOWN)) != 0 && !spelling.empty()) {
            specials_.push_back({spelling, token});
            begins_special_.set(static_cast<unsigned char>(spelling.front()));
        }
        if (ends_answer(token)) {
            ends_.push_back(token);
        }
        text_of(token, text);
        if (text.empty() && !ends_answer(token)) {
            silent_.push_back(token);
        }
        longest_ = std::max({longest_, text.size(), spelling.size()});
    }
    inner_ = std::make_unique<InnerTokens>(size(), [this](std::int32_t token, std::string& bytes) {
        text_of(token, bytes);
    });
    const auto spell = [this](std::int32_t token, std::string& bytes) {
        text_of(token, bytes);
        bytes = bytes.empty() ? piece_of(token) : bytes; // of a special token, such as the end of a call
    };
    closing_ = std::make_unique<ClosingTokens>(size(), spell, ends_);
    texts_ = std::make_unique<TokenTexts>(size(), [this](std::int32_t token) { return piece_of(token); });
    std::stable_sort(specials_.begin(), specials_.end(), [](const Special& a, const Special& b) {
        return a.text < b.text;
    });
}

void Tokenizer::text_of(llama_token token, std::string& text) const {
    text.resize(text.capacity());
    auto* data = text.data();
    auto size = llama_token_to_piece(vocab_, token, data, static_cast<std::int32_t>(text.size()), 0, false);
    if (size < 0) {
        text.resize(static_cast<std::size_t>(-size));
        size = llama_token_to_piece(vocab_, token, text.data(), -size, 0, false);
    }
    text.resize(static_cast<std::size_t>(std::max(size, 0)));
}

std::string Tokenizer::piece_of(llama_token token) const {
    return sotto::llama::piece_of(vocab_, token);
}

std::uint64_t text_bytes_of(const llama_vocab* vocab) {
    return TokenTexts::bytes_of(llama_vocab_n_tokens(vocab), [vocab](std::int32_t token) {
        return piece_of(vocab, token);
    });
}

std::span<const llama_token> Tokenizer::suppressed() const {
    std::int32_t count = 0;
    const auto* tokens = llama_vocab_get_suppress_tokens(vocab_, &count);
    return {tokens, static_cast<std::size_t>(count)};
}

std::vector<llama_token> Tokenizer::tokens(const std::vector<PromptPart>& parts, std::size_t max) const {
    check_length(parts, max);
    auto tokens = cut(parts);
    begin(tokens);
    if (tokens.size() > max) {
        throw TooLong(std::to_string(tokens.size()), max);
    }
    if (tokens.empty()) {
        throw Error(SOTTO_ERROR_ARGUMENT, "invalid prompt of 0 tokens: expected at least 1");
    }
    return tokens;
}

void Tokenizer::check_length(const std::vector<PromptPart>& parts, std::size_t max) const {
    std::size_t size = 0;
    for (const auto& part : parts) {
        size += part.text.size();
    }
    if (size / longest_ > max) { // lower bound, as no token is longer
        throw TooLong("more than " + std::to_string(size / longest_), max);
    }
}

void Tokenizer::begin(std::vector<llama_token>& tokens) const {
    const auto first = llama_vocab_get_add_bos(vocab_) ? llama_vocab_bos(vocab_) : LLAMA_TOKEN_NULL;
    if (first != LLAMA_TOKEN_NULL && (tokens.empty() || tokens.front() != first)) {
        tokens.insert(tokens.begin(), first);
    }
}

std::vector<llama_token> Tokenizer::cut(const std::vector<PromptPart>& parts) const {
    std::string whole;
    for (const auto& part : parts) {
        whole += part.text;
    }
    std::vector<llama_token> tokens;
    try {
        if (std::any_of(parts.begin(), parts.end(), [&](const auto& part) { return looks_special(part); })) {
            cut_guarded(parts, tokens);
        } else {
            cut_into(whole, true, tokens);
        }
    } catch (const std::exception& error) { // llama.cpp looked up a byte that a damaged vocabulary lacks
        throw_if_out_of_memory(error);
        throw Error(SOTTO_ERROR_INFERENCE, "the model's vocabulary cannot spell the prompt");
    }
    return tokens;
}

void Tokenizer::cut_into(std::string_view text, bool parse_special, std::vector<llama_token>& tokens) const {
    const bool by_regex = llama_vocab_type(vocab_) == LLAMA_VOCAB_TYPE_BPE;
    while (!text.empty()) {
        throw_if_cancelled();
        const auto length = by_regex ? safe_length(text) : text.size();
        cut_piece(text.substr(0, length), parse_special, tokens);
        text.remove_prefix(length);
    }
}

void Tokenizer::cut_piece(std::string_view text, bool parse_special, std::vector<llama_token>& tokens) const {
    const auto old = tokens.size();
    const auto bytes = static_cast<std::int32_t>(text.size());
    tokens.resize(old + text.size() / 2 + 8);
    const auto room = static_cast<std::int32_t>(tokens.size() - old);
    auto count = llama_tokenize(vocab_, text.data(), bytes, tokens.data() + old, room, false, parse_special);
    if (count < 0) {
        tokens.resize(old + static_cast<std::size_t>(-count));
        count = llama_tokenize(vocab_, text.data(), bytes, tokens.data() + old, -count, false, parse_special);
    }
    tokens.resize(old + static_cast<std::size_t>(std::max(count, 0)));
}

std::vector<llama_token> Tokenizer::cut(std::string_view text, bool parse_special) const {
    return cut(std::vector<PromptPart>{{std::string(text), parse_special}});
}

std::size_t Tokenizer::control_token_at(std::string_view text) const {
    const auto* special = special_at(text);
    return special == nullptr ? 0 : special->text.size();
}

const Tokenizer::Special* Tokenizer::special_at(std::string_view text) const {
    if (!begins_special_.test(static_cast<unsigned char>(text.front()))) {
        return nullptr;
    }
    // Narrows the range of candidates byte by byte; the shortest candidate of a range comes first.
    const Special* longest = nullptr;
    auto begin = specials_.begin();
    auto end = specials_.end();
    for (std::size_t length = 1; length <= text.size() && begin != end; ++length) {
        const auto start = text.substr(0, length);
        const auto head = [&](const Special& special) {
            return std::string_view(special.text).substr(0, length);
        };
        begin = std::partition_point(begin, end, [&](const auto& special) { return head(special) < start; });
        end = std::partition_point(begin, end, [&](const auto& special) { return head(special) == start; });
        if (begin != end && begin->text.size() == length) {
            longest = &*begin;
        }
    }
    return longest;
}

bool Tokenizer::looks_special(const PromptPart& part) const {
    if (part.from_template) {
        return false;
    }
    for (std::string_view text = part.text; !text.empty(); text.remove_prefix(1)) {
        if (special_at(text) != nullptr) {
            return true;
        }
    }
    return false;
}

// User text may contain the spelling of a special token. So special tokens are recognised here, in the
// template's own text only, and the text between them is tokenized as plain text, as llama.cpp would do.
void Tokenizer::cut_guarded(const std::vector<PromptPart>& parts, std::vector<llama_token>& tokens) const {
    std::string plain;
    for (const auto& part : parts) {
        for (std::size_t i = 0; i < part.text.size();) {
            const auto* special =
                part.from_template ? special_at(std::string_view(part.text).substr(i)) : nullptr;
            if (special == nullptr) {
                plain += part.text[i++];
                continue;
            }
            cut_into(plain, false, tokens);
            plain.clear();
            tokens.push_back(special->token);
            i += special->text.size();
        }
    }
    cut_into(plain, false, tokens);
}

} // namespace sotto::llama
