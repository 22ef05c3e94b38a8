// Cuts prompts into tokens.
#pragma once

#include "runtime/fence.hpp"
#include "token/closing.hpp"
#include "token/well_formed.hpp"

#include <bitset>
#include <cstdint>
#include <llama.h>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sotto::llama {

// A stretch of a prompt. What people wrote must never be taken for the template's own control tokens.
struct PromptPart {
    std::string text;
    bool from_template = true;
    int medium = -1; // which of a request's images and sounds it is; it has no text then
};

// A prompt has more tokens than may be.
class TooLong : public Error {
public:
    TooLong(const std::string& tokens, std::size_t most)
        : Error(
              SOTTO_ERROR_INFERENCE,
              "the prompt has " + tokens + " tokens, but the model's context holds " + std::to_string(most) +
                  "; shorten the prompt, or raise options.context"
          ) {}
};

class Tokenizer {
public:
    explicit Tokenizer(const llama_vocab* vocab);

    // Cuts `parts`, one text, into tokens: the model's control tokens only where the template wrote them, and
    // one token for the beginning where the model wants it. Throws TooLong if that
    // gives more than `most`, without cutting where the length alone shows it.
    std::vector<llama_token> tokens(const std::vector<PromptPart>& parts, std::size_t most) const;
    // Throws TooLong where the length of `parts` alone shows that they have more than `most` tokens.
    void check_length(const std::vector<PromptPart>& parts, std::size_t most) const;
    // Cuts `parts` alone, without a limit and a token for the beginning.
    std::vector<llama_token> cut(const std::vector<PromptPart>& parts) const;
    // Cuts `text` alone, without a limit. `parse_special`: spellings of control tokens are taken for them.
    std::vector<llama_token> cut(std::string_view text, bool parse_special) const;
    // `tokens`, with the one for the beginning before them where the model wants it.
    void begin(std::vector<llama_token>& tokens) const;

    // The bytes of a token, nothing for control tokens. `text` keeps its room for the next time.
    void text_of(llama_token token, std::string& text) const;
    // The same, but control tokens as they are spelled.
    std::string piece_of(llama_token token) const;

    // Bytes of the control token that is spelled at the beginning of `text`; 0 if none is.
    std::size_t control_token_at(std::string_view text) const;

    // Tokens that a model must never say, and those that end an answer.
    std::span<const llama_token> suppressed() const;
    const std::vector<llama_token>& ends() const noexcept { return ends_; }
    // Tokens that say nothing and end nothing, and which of the others begin inside a character.
    const std::vector<llama_token>& silent() const noexcept { return silent_; }
    const InnerTokens& inner() const noexcept { return *inner_; }
    const ClosingTokens& closing() const noexcept { return *closing_; }
    bool exists(std::int64_t token) const { return token >= 0 && token < size(); }
    std::size_t longest() const noexcept { return longest_; } // bytes of a token, at most
    const llama_vocab* vocab() const noexcept { return vocab_; }

    bool ends_answer(llama_token token) const { return llama_vocab_is_eog(vocab_, token); }
    std::int32_t size() const { return llama_vocab_n_tokens(vocab_); }

private:
    struct Special {
        std::string text;
        llama_token token;
    };

    void cut_into(std::string_view text, bool parse_special, std::vector<llama_token>& tokens) const;
    void cut_piece(std::string_view text, bool parse_special, std::vector<llama_token>& tokens) const;
    void cut_guarded(const std::vector<PromptPart>& parts, std::vector<llama_token>& tokens) const;
    const Special* special_at(std::string_view text) const;
    bool looks_special(const PromptPart& part) const;

    const llama_vocab* vocab_;
    std::vector<Special> specials_;   // by text; of the same text, the first token first
    std::bitset<256> begins_special_; // which bytes they begin with
    std::vector<llama_token> ends_;
    std::vector<llama_token> silent_;
    std::unique_ptr<InnerTokens> inner_;
    std::unique_ptr<ClosingTokens> closing_;
    std::size_t longest_ = 1; // bytes of the longest token
};

} // namespace sotto::llama
