// A model's chat template: what it makes of a conversation, and which form it gives to an answer.
#pragma once

#include "grammar/schema/schema.hpp"
#include "runtime/recent.hpp"

#include <chat.h>
#include <map>
#include <string>

namespace sotto::llama {

class ChatTemplate {
public:
    // `source` is Jinja; empty: the model's own. Throws std::exception where it does not parse, TemplateError
    // where it exceeds RenderLimits.
    ChatTemplate(const llama_model* model, const std::string& source);

    std::map<std::string, bool> capabilities() const;

    // Renders `inputs`, and says what holds the answer to its form, with the grammar mended by `rules`. Keeps
    // what it finds out of the form: that takes milliseconds. Any thread. Throws std::exception;
    // TemplateError where rendering exceeds RenderLimits.
    common_chat_params apply(common_chat_templates_inputs inputs, const SchemaRules& rules) const;

private:
    struct Form {
        common_chat_params how; // without a prompt

        std::size_t bytes() const;
    };

    common_chat_params
    apply_within_limits(common_chat_templates_inputs inputs, const SchemaRules& rules) const;

    common_chat_templates_ptr templates_;
    bool own_form_ = false; // llama.cpp knows the template, and has a form for it
    mutable Recent<Form> forms_;
};

} // namespace sotto::llama
