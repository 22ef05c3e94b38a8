// Conversations in the form that a model was taught: its chat template, and how its answers are read.
#pragma once

#include "answer_parser.hpp"
#include "tokenizer.hpp"

#include <chat.h>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace sotto::llama {

struct ChatPrompt {
    std::vector<PromptPart> parts;
    common_chat_params how;               // what holds an answer to its form
    std::unique_ptr<AnswerParser> parser; // none: what is generated is what is said
};

class Chat {
public:
    // `source` is Jinja; empty: the model's own. Throws std::exception where it does not parse.
    Chat(const llama_model* model, const Tokenizer& tokenizer, const std::string& source);

    // Renders a request's messages, with the beginning of an answer after them. Throws
    // Error(SOTTO_ERROR_ARGUMENT) where the template can make nothing of them.
    ChatPrompt prompt(const nlohmann::ordered_json& body) const;

    // What the template knows of, for people and tools.
    nlohmann::ordered_json capabilities() const;
    std::string source() const { return common_chat_templates_source(templates_.get()); }

private:
    common_chat_templates_inputs
    inputs_of(const nlohmann::ordered_json& body, std::map<std::string, std::string>& rules) const;
    bool is_plain(const common_chat_templates_inputs& inputs) const;

    const Tokenizer& tokenizer_;
    common_chat_templates_ptr templates_;
    std::map<std::string, bool> can_;
    bool thinks_ = false;
    std::vector<std::string> looked_for_; // spellings that the template may look for in what it is given
};

} // namespace sotto::llama
