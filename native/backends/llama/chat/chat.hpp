// Conversations in the form that a model was taught: its chat template, and how its answers are read.
#pragma once

#include "chat/answer_parser.hpp"
#include "chat/chat_template.hpp"
#include "grammar/schema/constraints.hpp"
#include "token/tokenizer.hpp"

#include <memory>
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
    Chat(
        const llama_model* model,
        const Tokenizer& tokenizer,
        const Constraints& constraints,
        const std::string& source
    );

    // Renders a request's messages, with the beginning of an answer after them. Throws
    // Error(SOTTO_ERROR_ARGUMENT) where the template can make nothing of them. Any thread.
    ChatPrompt prompt(const Json& body) const;

    // About how many tokens the template adds to each message.
    std::size_t overhead() const;

    // What the template knows of, for people and tools.
    Json capabilities() const;

private:
    common_chat_templates_inputs inputs_of(const Json& body, SchemaRules& rules) const;
    std::vector<common_chat_tool>
    tools_of(const Json& body, common_chat_tool_choice& choice, SchemaRules& rules) const;
    std::vector<std::string> marks_of_thoughts(const common_chat_params& params) const;
    bool is_plain(const common_chat_templates_inputs& inputs) const;

    const Tokenizer& tokenizer_;
    const Constraints& constraints_;
    ChatTemplate template_;
    std::map<std::string, bool> can_;
    bool thinks_ = false;
    std::vector<std::string> looked_for_; // spellings that the template may look for in what it is given
};

} // namespace sotto::llama
