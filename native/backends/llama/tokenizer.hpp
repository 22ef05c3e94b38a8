// Cuts prompts into tokens.
#pragma once

#include "chat_template.hpp"

#include <bitset>
#include <cstdint>
#include <llama.h>
#include <string>
#include <vector>

namespace sotto::llama {

class Tokenizer {
public:
    explicit Tokenizer(const llama_vocab* vocab);

    // Cuts `parts`, one text, into tokens: the model's control tokens only where the template wrote them, and
    // one token for the beginning where the model wants it. Throws Error(SOTTO_ERROR_INFERENCE) if that
    // gives more than `most`, without cutting where the length alone shows it.
    std::vector<llama_token> tokens(const std::vector<PromptPart>& parts, std::size_t most) const;

    // The bytes of a token, nothing for control tokens. `text` keeps its room for the next time.
    void text_of(llama_token token, std::string& text) const;
    // A token's own spelling, also of control tokens.
    std::string spelling_of(llama_token token) const;

    bool ends_answer(llama_token token) const { return llama_vocab_is_eog(vocab_, token); }
    std::int32_t size() const { return llama_vocab_n_tokens(vocab_); }

private:
    struct Special {
        std::string text;
        llama_token token;
    };

    std::vector<llama_token> cut_parts(const std::vector<PromptPart>& parts, const std::string& whole) const;
    void cut(std::string_view text, bool parse_special, std::vector<llama_token>& tokens) const;
    void cut_piece(std::string_view text, bool parse_special, std::vector<llama_token>& tokens) const;
    void cut_guarded(const std::vector<PromptPart>& parts, std::vector<llama_token>& tokens) const;
    const Special* special_at(std::string_view text) const;
    bool looks_special(const PromptPart& part) const;

    const llama_vocab* vocab_;
    std::vector<Special> specials_;   // longest first
    std::bitset<256> begins_special_; // which bytes they begin with
    std::size_t longest_ = 1;         // bytes of the longest token
};

} // namespace sotto::llama
