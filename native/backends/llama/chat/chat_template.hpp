// A model's chat template: renders conversations and determines the format of answers.
#pragma once

#include "grammar/schema/schema.hpp"
#include "runtime/recent.hpp"

#include <chat.h>
#include <map>
#include <string>

namespace sotto::llama {

class ChatTemplate {
public:
    // `source` is a Jinja template; empty: the model's own. Throws std::exception if the template does not
    // parse, TemplateError if the template exceeds RenderLimits.
    ChatTemplate(const llama_model* model, const std::string& source);

    std::map<std::string, bool> capabilities() const;

    // Renders `inputs` and returns the prompt and the answer's format, with the grammar corrected by `rules`.
    // Caches detected formats, because detection takes milliseconds. Any thread. Throws std::exception;
    // TemplateError if rendering exceeds RenderLimits.
    common_chat_params apply(common_chat_templates_inputs inputs, const SchemaRules& rules) const;

private:
    struct Form {
        common_chat_params how; // without the prompt

        std::size_t bytes() const;
    };

    common_chat_params
    apply_within_limits(common_chat_templates_inputs inputs, const SchemaRules& rules) const;

    common_chat_templates_ptr templates_;
    bool own_form_ = false; // llama.cpp has a handler for this template
    mutable Recent<Form> forms_;
};

} // namespace sotto::llama
