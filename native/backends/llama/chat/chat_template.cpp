// Applies a model's chat template.
#include "chat/chat_template.hpp"

#include "chat/forced_call.hpp"
#include "chat/jinja/limits.hpp"
#include "chat/jinja/syntax_error.hpp"
#include "chat/jinja/tokens.hpp"
#include "runtime/fence.hpp"
#include "runtime/memory_watch.hpp"

#include <algorithm>
#include <chat-auto-parser.h>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace sotto::llama {
namespace {

constexpr std::size_t kMaxKept = 4 << 20; // bytes of cached formats

// Returns true if llama.cpp has a handler for this template instead of detecting its format by trial. Such a
// handler also affects rendering, so its results cannot be cached.
bool has_own_form(const std::string& source) {
    autoparser::generation_params inputs;
    inputs.messages = common_json::parse(R"([{"role": "user", "content": "Hello."}])");
    inputs.add_generation_prompt = true;
    try {
        return common_chat_try_specialized_template({source, "", ""}, source, inputs).has_value();
    } catch (const std::exception& error) { // the template refuses this conversation
        throw_if_out_of_memory(error);
        return true;
    }
}

// Replaces the first `old` in `text`, if there is one.
void replace(std::string& text, std::string_view old, std::string_view by) {
    if (const auto at = text.find(old); at != std::string::npos) {
        text.replace(at, old.size(), by);
    }
}

// Makes an answer in JSON begin with the JSON. llama.cpp's grammar also allows blank lines and a code fence:
// tokens that the host would wait for, and that the answer does not contain.
void drop_fence(std::string& grammar) {
    replace(
        grammar,
        R"(space ("```json" space response-format space "```" | space response-format space))",
        "space response-format"
    );
    // after reasoning, the blanks remain: models write an empty line there
    replace(grammar, R"(" space space response-format)", R"(" " "? response-format)");
}

common_chat_params mended(
    const common_chat_templates* templates,
    const common_chat_templates_inputs& inputs,
    const SchemaRules& rules
) {
    auto how = common_chat_templates_apply(templates, inputs);
    if (inputs.tool_choice == COMMON_CHAT_TOOL_CHOICE_REQUIRED) {
        force_call(how, inputs);
    } else if (!inputs.json_schema.empty()) {
        drop_fence(how.grammar);
    }
    if (!how.grammar.empty()) {
        how.grammar = mended_grammar(how.grammar, rules);
    }
    return how;
}

// Runs `body` within the current RenderLimits, or within new RenderLimits for `input` if the thread has none.
// Throws TemplateError and std::bad_alloc even if llama.cpp swallowed the exception.
template <typename Body>
void limited(const RenderInput& input, Body&& body) {
    std::optional<RenderLimits> own;
    if (RenderLimits::current() == nullptr) {
        own.emplace(input);
    }
    const auto& limits = *RenderLimits::current();
    const MemoryWatch memory;
    try {
        body();
    } catch (...) {
        limits.check();
        memory.check();
        throw;
    }
    limits.check();
    memory.check();
}

// Returns `source`, or the model's chat templates if `source` is empty.
std::vector<std::string> templates_of(const llama_model* model, const std::string& source) {
    if (!source.empty()) {
        return {source};
    }
    std::vector<std::string> texts;
    for (const char* variant : {static_cast<const char*>(nullptr), "tool_use"}) {
        if (const char* own = llama_model_chat_template(model, variant); own != nullptr) {
            texts.emplace_back(own);
        }
    }
    return texts;
}

// Throws with the reason if a template has a syntax error.
void check_syntax(const std::string& source) {
    try {
        const common_chat_template parsed(source, "", "");
    } catch (const TemplateError&) {
        throw;
    } catch (const std::exception& error) {
        throw_if_out_of_memory(error);
        throw std::runtime_error(describe_syntax_error(error.what(), source));
    }
}

// Parses `source`, or the model's chat templates if `source` is empty. Throws with the parser's reason if a
// template has a syntax error.
common_chat_templates_ptr read(const llama_model* model, const std::string& source) {
    try {
        return common_chat_templates_init(model, source);
    } catch (const std::exception& error) {
        throw_if_out_of_memory(error);
        for (const auto& text : templates_of(model, source)) {
            check_syntax(text); // init() drops the reason
        }
        throw;
    }
}

void count(const std::string& text, RenderInput& input) {
    ++input.items;
    input.bytes += text.size();
}

RenderInput input_of(const common_chat_templates_inputs& inputs) {
    RenderInput input;
    input.variables = inputs.chat_template_kwargs.size();
    for (const auto& message : inputs.messages) {
        count(message.content, input);
        input.bytes += message.reasoning_content.size();
        for (const auto& part : message.content_parts) {
            count(part.text, input);
        }
        for (const auto& call : message.tool_calls) {
            count(call.arguments, input);
        }
    }
    for (const auto& tool : inputs.tools) {
        count(tool.parameters, input);
        input.bytes += tool.description.size();
    }
    for (const auto& [name, value] : inputs.chat_template_kwargs) {
        count(value, input);
    }
    return input;
}

// Returns the nesting depth of JSON text.
std::size_t depth_of(const std::string& json) {
    std::size_t depth = 0;
    std::size_t deepest = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < json.size(); ++i) {
        const char c = json[i];
        i += quoted && c == '\\' ? 1 : 0;
        quoted = quoted != (c == '"');
        if (!quoted && (c == '[' || c == '{')) {
            deepest = std::max(deepest, ++depth);
        } else if (!quoted && (c == ']' || c == '}') && depth > 0) {
            --depth;
        }
    }
    return deepest;
}

// Throws if the arguments of a tool call are nested too deeply: they are JSON inside a string, which the
// check of the request's depth does not cover.
void check_arguments(const common_chat_templates_inputs& inputs) {
    constexpr std::size_t kDeepest = 128; // the same limit as for requests
    for (const auto& message : inputs.messages) {
        for (const auto& call : message.tool_calls) {
            if (depth_of(call.arguments) > kDeepest) {
                throw Error(
                    SOTTO_ERROR_ARGUMENT,
                    "invalid tool_calls: the arguments of '" + call.name + "' are nested deeper than " +
                        std::to_string(kDeepest) + " levels"
                );
            }
        }
    }
}

// Throws if chat_template_kwargs has too many fields: each scope of a template copies all variables.
void check_variables(const common_chat_templates_inputs& inputs) {
    constexpr std::size_t kMax = 256;
    const auto count = inputs.chat_template_kwargs.size();
    if (count > kMax) {
        throw Error(
            SOTTO_ERROR_ARGUMENT,
            "invalid chat_template_kwargs of " + std::to_string(count) + " fields: expected at most " +
                std::to_string(kMax)
        );
    }
}

// Builds an unambiguous key from texts: each is prefixed by its length.
class CacheKey {
public:
    void add(std::string_view text) {
        text_ += std::to_string(text.size());
        text_ += ':';
        text_ += text;
    }
    void add(const std::map<std::string, std::string>& texts) {
        add(std::to_string(texts.size()));
        for (const auto& [name, text] : texts) {
            add(name);
            add(text);
        }
    }
    const std::string& text() const { return text_; }

private:
    std::string text_;
};

// Returns a cache key from all inputs that determine the answer's format. The format does not depend on the
// messages, but on `begun`, the answer's prefix at the end of the prompt.
std::string
key_of(const common_chat_templates_inputs& inputs, const std::string& begun, const SchemaRules& rules) {
    CacheKey key;
    for (const int choice : {
             static_cast<int>(inputs.tool_choice),
             static_cast<int>(inputs.reasoning_format),
             static_cast<int>(inputs.parallel_tool_calls),
             static_cast<int>(inputs.enable_thinking),
             static_cast<int>(inputs.add_generation_prompt),
         }) {
        key.add(std::to_string(choice));
    }
    key.add(begun);
    key.add(inputs.json_schema);
    key.add(inputs.chat_template_kwargs);
    key.add(rules);
    for (const auto& tool : inputs.tools) {
        key.add(tool.name);
        key.add(tool.description);
        key.add(tool.parameters);
    }
    return key.text();
}

} // namespace

std::size_t ChatTemplate::Form::bytes() const {
    std::size_t bytes = sizeof *this + how.parser.size() + how.grammar.size();
    for (const auto& trigger : how.grammar_triggers) {
        bytes += sizeof trigger + trigger.value.size();
    }
    for (const auto* texts : {&how.preserved_tokens, &how.additional_stops, &how.thinking_end_tags}) {
        for (const auto& text : *texts) {
            bytes += sizeof text + text.size();
        }
    }
    return bytes;
}

ChatTemplate::ChatTemplate(const llama_model* model, const std::string& source) : forms_(kMaxKept) {
    for (const auto& text : templates_of(model, source)) {
        check_source(text);
    }
    limited({}, [&] {
        templates_ = read(model, source);
        for (const char* variant : {"", "tool_use"}) {
            const auto jinja = common_chat_templates_source(templates_.get(), variant);
            own_form_ = own_form_ || (!jinja.empty() && has_own_form(jinja));
        }
    });
}

std::map<std::string, bool> ChatTemplate::capabilities() const {
    return common_chat_templates_get_caps(templates_.get());
}

common_chat_params ChatTemplate::apply(common_chat_templates_inputs inputs, const SchemaRules& rules) const {
    check_variables(inputs);
    check_arguments(inputs);
    common_chat_params how;
    limited(input_of(inputs), [&] { how = apply_within_limits(std::move(inputs), rules); });
    return how;
}

common_chat_params
ChatTemplate::apply_within_limits(common_chat_templates_inputs inputs, const SchemaRules& rules) const {
    const bool plain = inputs.force_pure_content;
    const bool continued = inputs.continue_final_message != COMMON_CHAT_CONTINUATION_NONE;
    if (!plain && (own_form_ || continued)) {
        return mended(templates_.get(), inputs, rules);
    }
    inputs.force_pure_content = true;
    auto rendered = common_chat_templates_apply(templates_.get(), inputs);
    if (plain) {
        return rendered;
    }
    inputs.force_pure_content = false;
    const auto form = forms_.get(key_of(inputs, rendered.generation_prompt, rules), [&] {
        Form made{mended(templates_.get(), inputs, rules)};
        made.how.prompt.clear();
        return made;
    });
    auto how = form->how;
    how.prompt = std::move(rendered.prompt);
    return how;
}

} // namespace sotto::llama
