// Keeps what people wrote apart from what a chat template writes, through any template.
#pragma once

#include "token/tokenizer.hpp"

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace sotto::llama {

// Someone may write what is spelled like a control token. Before a template sees it, each such spelling is
// replaced by characters of a private use area; in what the template made of it they are found again. So
// the tokenizer knows which control tokens the template itself wrote.
class Disguise {
public:
    explicit Disguise(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

    // Spellings in `allowed` stay as they are: templates look for them.
    std::string hide(const std::string& text, const std::vector<std::string>& allowed);
    // All strings in `value`, but for those under "role" and "type".
    void hide(nlohmann::ordered_json& value, const std::vector<std::string>& allowed);

    // What stands for one of the request's images and sounds, which nobody can write.
    std::string stand_in(int medium);

    // What was rendered, with what was hidden in it, as parts of their own.
    std::vector<PromptPart> reveal(const std::string& rendered) const;

private:
    std::string placeholder(const PromptPart& hidden);
    std::size_t hidden_at(std::string_view text) const;

    const Tokenizer& tokenizer_;
    std::vector<PromptPart> hidden_;
    std::map<std::pair<std::string, int>, std::size_t> places_; // of those, by text and medium
};

} // namespace sotto::llama
