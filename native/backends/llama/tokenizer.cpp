// Cuts prompts into tokens.
#include "tokenizer.hpp"

#include "long_runs.hpp"

#include <algorithm>

namespace sotto::llama {

Tokenizer::Tokenizer(const llama_vocab* vocab) : vocab_(vocab) {
    std::string text;
    for (llama_token token = 0; token < size(); ++token) {
        const auto attributes = llama_vocab_get_attr(vocab, token);
        const std::string spelling = llama_vocab_get_text(vocab, token);
        if ((attributes & (LLAMA_TOKEN_ATTR_CONTROL | LLAMA_TOKEN_ATTR_UNKNOWN)) != 0 && !spelling.empty()) {
            specials_.push_back({spelling, token});
            begins_special_.set(static_cast<unsigned char>(spelling.front()));
        }
        text_of(token, text);
        longest_ = std::max({longest_, text.size(), spelling.size()});
    }
    std::stable_sort(specials_.begin(), specials_.end(), [](const Special& a, const Special& b) {
        return a.text.size() > b.text.size();
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

std::string Tokenizer::spelling_of(llama_token token) const {
    return token == LLAMA_TOKEN_NULL ? "" : llama_vocab_get_text(vocab_, token);
}

std::vector<llama_token> Tokenizer::tokens(const std::vector<PromptPart>& parts, std::size_t most) const {
    std::string whole;
    for (const auto& part : parts) {
        whole += part.text;
    }
    const auto too_long = [&](const std::string& how_many) {
        return Error(
            SOTTO_ERROR_INFERENCE,
            "the prompt has " + how_many + " tokens, and the model's context holds " + std::to_string(most)
        );
    };
    if (whole.size() / longest_ > most) { // no tokens are longer, so there must be more of them
        throw too_long("more than " + std::to_string(whole.size() / longest_));
    }
    auto tokens = cut_parts(parts, whole);
    const auto begin = llama_vocab_get_add_bos(vocab_) ? llama_vocab_bos(vocab_) : LLAMA_TOKEN_NULL;
    if (begin != LLAMA_TOKEN_NULL && (tokens.empty() || tokens.front() != begin)) {
        tokens.insert(tokens.begin(), begin);
    }
    if (tokens.size() > most) {
        throw too_long(std::to_string(tokens.size()));
    }
    if (tokens.empty()) {
        throw Error(SOTTO_ERROR_ARGUMENT, "the prompt is empty");
    }
    return tokens;
}

std::vector<llama_token>
Tokenizer::cut_parts(const std::vector<PromptPart>& parts, const std::string& whole) const {
    std::vector<llama_token> tokens;
    try {
        if (std::any_of(parts.begin(), parts.end(), [&](const auto& part) { return looks_special(part); })) {
            cut_guarded(parts, tokens);
        } else {
            cut(whole, true, tokens);
        }
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::exception&) { // llama.cpp looks up a byte that a damaged vocabulary lacks
        throw Error(SOTTO_ERROR_INFERENCE, "the model's vocabulary cannot spell the prompt");
    }
    return tokens;
}

void Tokenizer::cut(std::string_view text, bool parse_special, std::vector<llama_token>& tokens) const {
    const bool by_regex = llama_vocab_type(vocab_) == LLAMA_VOCAB_TYPE_BPE;
    while (!text.empty()) {
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

const Tokenizer::Special* Tokenizer::special_at(std::string_view text) const {
    if (!begins_special_.test(static_cast<unsigned char>(text.front()))) {
        return nullptr;
    }
    const auto found = std::find_if(specials_.begin(), specials_.end(), [&](const Special& special) {
        return text.starts_with(special.text);
    });
    return found == specials_.end() ? nullptr : &*found;
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

// Someone wrote what is spelled like a control token. So the template's control tokens are found here, in
// the template's own text, and all between them is cut as plain text, as llama.cpp would have done.
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
            cut(plain, false, tokens);
            plain.clear();
            tokens.push_back(special->token);
            i += special->text.size();
        }
    }
    cut(plain, false, tokens);
}

} // namespace sotto::llama
