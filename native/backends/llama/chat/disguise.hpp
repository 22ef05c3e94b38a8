// Hides special-token spellings in user text from a chat template, and restores them after rendering.
#pragma once

#include "token/tokenizer.hpp"

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace sotto::llama {

// User text may contain the spelling of a special token. Each such spelling is replaced by private-use
// characters before the template sees it, and restored after rendering. So the tokenizer can tell which
// special tokens the template wrote itself.
class Disguise {
public:
    explicit Disguise(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

    // Returns `text` with a placeholder for each special-token spelling. Leaves the spellings in `allowed`
    // unchanged, because templates search for them.
    std::string hide(const std::string& text, const std::vector<std::string>& allowed);
    // Replaces spellings in all strings of `value`, except in the members "role" and "type".
    void hide(nlohmann::ordered_json& value, const std::vector<std::string>& allowed);

    // Returns a placeholder for image or sound `medium` of the request. No user text can contain the
    // placeholder.
    std::string stand_in(int medium);

    // Splits the rendered prompt into parts: the text between placeholders, and the text, image or sound that
    // each placeholder stands for.
    std::vector<PromptPart> reveal(const std::string& rendered) const;

private:
    std::string placeholder(const PromptPart& hidden);
    std::size_t hidden_at(std::string_view text) const;

    const Tokenizer& tokenizer_;
    std::vector<PromptPart> hidden_;
    // index of each hidden text, keyed by text and medium
    std::map<std::pair<std::string, int>, std::size_t> places_;
};

} // namespace sotto::llama
