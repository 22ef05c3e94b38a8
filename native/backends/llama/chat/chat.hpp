// Chat templates: renders conversations into prompts, and sets up the parsing of answers.
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
    common_chat_params how;                  // grammar and format of the answer
    std::unique_ptr<AnswerParser> parser;    // null: generated text is the content
    bool must_call = false;                  // the answer must be a tool call
    std::vector<std::string> shortest_calls; // if so: about the shortest call of each tool
};

class Chat {
public:
    // `source` is a Jinja template; empty: the model's own. Throws std::exception if the template does not
    // parse.
    Chat(
        const llama_model* model,
        const Tokenizer& tokenizer,
        const Constraints& constraints,
        const std::string& source
    );

    // Renders a request's messages and the start of an answer. Throws Error(SOTTO_ERROR_ARGUMENT) if the
    // template fails on the messages. Any thread.
    ChatPrompt prompt(const Json& body) const;

    // Estimates the number of tokens that the template adds to each message.
    std::size_t overhead() const;

    // Features that the template supports, as JSON.
    Json capabilities() const;

private:
    common_chat_templates_inputs inputs_of(const Json& body, SchemaRules& rules) const;
    std::vector<common_chat_tool>
    tools_of(const Json& body, common_chat_tool_choice& choice, SchemaRules& rules) const;
    std::vector<std::string> marks_of_thoughts(const common_chat_params& params) const;
    bool can(const std::string& feature) const;
    bool is_plain(const common_chat_templates_inputs& inputs) const;

    const Tokenizer& tokenizer_;
    const Constraints& constraints_;
    ChatTemplate template_;
    std::map<std::string, bool> can_;
    bool thinks_ = false;
    // control-token spellings that the template may search for in its input
    std::vector<std::string> looked_for_;
};

} // namespace sotto::llama
