// Tokenizes prompts, and describes the tokens of a vocabulary.
#pragma once

#include "runtime/fence.hpp"
#include "token/closing.hpp"
#include "token/token_texts.hpp"
#include "token/well_formed.hpp"

#include <bitset>
#include <cstdint>
#include <llama.h>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sotto::llama {

// A part of a prompt. Spellings of special tokens in user text must not be tokenized as special tokens.
struct PromptPart {
    std::string text;
    bool from_template = true;
    int medium = -1; // index of an image or sound of the request, whose text is empty; -1: text
};

// Thrown if a prompt has more tokens than allowed.
class TooLong : public Error {
public:
    TooLong(const std::string& tokens, std::size_t most)
        : Error(
              SOTTO_ERROR_INFERENCE,
              "the prompt has " + tokens + " tokens, but the model's context holds " + std::to_string(most) +
                  "; shorten the prompt, or raise options.context"
          ) {}
};

// Returns the bytes of memory that Tokenizer::texts() takes for a vocabulary.
std::uint64_t text_bytes_of(const llama_vocab* vocab);

class Tokenizer {
public:
    explicit Tokenizer(const llama_vocab* vocab);

    // Tokenizes `parts` as one text. Recognises special tokens only in template parts, and adds a BOS token
    // if the model wants one. Throws TooLong for more than `most` tokens, without tokenizing if the length of
    // the text alone shows that.
    std::vector<llama_token> tokens(const std::vector<PromptPart>& parts, std::size_t most) const;
    // Throws TooLong if the length of `parts` alone shows that they have more than `most` tokens.
    void check_length(const std::vector<PromptPart>& parts, std::size_t most) const;
    // Tokenizes `parts` without a limit and without a BOS token.
    std::vector<llama_token> cut(const std::vector<PromptPart>& parts) const;
    // Tokenizes `text` without a limit. `parse_special`: recognise spellings of special tokens.
    std::vector<llama_token> cut(std::string_view text, bool parse_special) const;
    // Prepends a BOS token if the model wants one.
    void begin(std::vector<llama_token>& tokens) const;

    // Stores the bytes of a token in `text` and reuses its capacity. A special token has no bytes.
    void text_of(llama_token token, std::string& text) const;
    // Returns the bytes of a token, or the spelling of a special token.
    std::string piece_of(llama_token token) const;

    // Returns the length in bytes of the special token's spelling at the start of `text`; 0: no special
    // token.
    std::size_t control_token_at(std::string_view text) const;

    // Tokens that the model must never generate.
    std::span<const llama_token> suppressed() const;
    // Tokens that end an answer.
    const std::vector<llama_token>& ends() const noexcept { return ends_; }
    // Tokens without text that do not end an answer.
    const std::vector<llama_token>& silent() const noexcept { return silent_; }
    // Tokens that begin inside a UTF-8 character.
    const InnerTokens& inner() const noexcept { return *inner_; }
    // Tokens that complete JSON.
    const ClosingTokens& closing() const noexcept { return *closing_; }
    // The text of each token.
    const TokenTexts& texts() const noexcept { return *texts_; }
    bool exists(std::int64_t token) const { return token >= 0 && token < size(); }
    std::size_t longest() const noexcept { return longest_; } // maximum bytes of a token
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
    std::vector<Special> specials_;   // sorted by text; of equal texts, the lowest token first
    std::bitset<256> begins_special_; // first bytes of the special tokens
    std::vector<llama_token> ends_;
    std::vector<llama_token> silent_;
    std::unique_ptr<InnerTokens> inner_;
    std::unique_ptr<ClosingTokens> closing_;
    std::unique_ptr<TokenTexts> texts_;
    std::size_t longest_ = 1; // bytes of the longest token
};

} // namespace sotto::llama
