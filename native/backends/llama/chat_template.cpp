// Renders a conversation the way its model was taught to read one.
#include "chat_template.hpp"

#include <jinja/caps.h>
#include <jinja/lexer.h>
#include <jinja/parser.h>
#include <jinja/runtime.h>
#include <nlohmann/json.hpp>

namespace sotto::llama {
namespace {

using Json = nlohmann::json;

jinja::value text_value(const std::string& text, bool written_by_people) {
    auto value = jinja::mk_val<jinja::value_string>(text);
    if (written_by_people) {
        value->mark_input();
    }
    return value;
}

jinja::value to_jinja(const Json& json, bool written_by_people) {
    switch (json.type()) {
    case Json::value_t::string:
        return text_value(json.get_ref<const std::string&>(), written_by_people);
    case Json::value_t::boolean:
        return jinja::mk_val<jinja::value_bool>(json.get<bool>());
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
        return jinja::mk_val<jinja::value_int>(json.get<std::int64_t>());
    case Json::value_t::number_float:
        return jinja::mk_val<jinja::value_float>(json.get<double>());
    case Json::value_t::array: {
        auto array = jinja::mk_val<jinja::value_array>();
        for (const auto& element : json) {
            array->push_back(to_jinja(element, written_by_people));
        }
        return array;
    }
    case Json::value_t::object: {
        auto object = jinja::mk_val<jinja::value_object>();
        for (const auto& [key, value] : json.items()) {
            object->insert(key, to_jinja(value, written_by_people));
        }
        return object;
    }
    default:
        return jinja::mk_val<jinja::value_none>();
    }
}

// The text of a message, which OpenAI lets be a string, a list of parts, or null.
std::string content_of(const Json& message, std::size_t index) {
    const auto found = message.find("content");
    if (found == message.end() || found->is_null()) {
        return "";
    }
    if (found->is_string()) {
        return found->get<std::string>();
    }
    std::string text;
    for (const auto& part : *found) {
        const auto kind = part.is_object() ? part.value("type", "") : std::string();
        if (kind != "text" || !part.contains("text")) {
            throw Error(
                SOTTO_ERROR_UNSUPPORTED,
                "messages[" + std::to_string(index) + "] has content of type \"" + kind +
                    "\", and this model reads \"text\""
            );
        }
        text += (text.empty() ? "" : "\n") + part["text"].get<std::string>();
    }
    return text;
}

// Messages as strings under the roles that the template knows of.
Json plain_messages(const Json& messages, const jinja::caps& can, bool knows_developer) {
    auto plain = Json::array();
    std::string system; // waits for the next message, where the template has no place for it
    for (std::size_t i = 0; i < messages.size(); ++i) {
        auto message = messages[i];
        auto content = content_of(message, i);
        if (message.value("role", "") == "developer" && !knows_developer) {
            message["role"] = "system";
        }
        if (message.value("role", "") == "system" && !can.supports_system_role) {
            system += content + "\n";
            continue;
        }
        message["content"] = system + content;
        system.clear();
        plain.push_back(std::move(message));
    }
    if (!system.empty()) {
        plain.push_back({{"role", "user"}, {"content", system}});
    }
    return plain;
}

jinja::value message_value(const Json& message, const jinja::caps& can) {
    auto value = jinja::mk_val<jinja::value_object>();
    for (const auto& [key, field] : message.items()) {
        if (key == "content" && !can.supports_string_content) {
            value->insert(key, to_jinja(Json::array({{{"type", "text"}, {"text", field}}}), true));
        } else {
            value->insert(key, to_jinja(field, key != "role"));
        }
    }
    return value;
}

} // namespace

struct ChatTemplate::Program {
    std::string source;
    jinja::program program;
    jinja::caps can;
    bool knows_developer = false;
};

ChatTemplate::ChatTemplate(const std::string& source, std::string bos, std::string eos)
    : program_(std::make_unique<Program>()), bos_(std::move(bos)), eos_(std::move(eos)) {
    jinja::lexer lexer;
    const auto tokens = lexer.tokenize(source);
    program_->source = tokens.source;
    program_->program = jinja::parse_from_tokens(tokens);
    program_->can = jinja::caps_get(program_->program);
    program_->knows_developer = source.find("developer") != std::string::npos;
}

ChatTemplate::~ChatTemplate() = default;

std::vector<PromptPart> ChatTemplate::render(const Json& messages) const {
    auto list = jinja::mk_val<jinja::value_array>();
    for (const auto& message : plain_messages(messages, program_->can, program_->knows_developer)) {
        list->push_back(message_value(message, program_->can));
    }
    jinja::context context(program_->source);
    context.set_val("messages", list);
    context.set_val("bos_token", text_value(bos_, false));
    context.set_val("eos_token", text_value(eos_, false));
    context.set_val("add_generation_prompt", jinja::mk_val<jinja::value_bool>(true));

    std::vector<PromptPart> parts;
    try {
        jinja::runtime runtime(context);
        const auto rendered = jinja::runtime::gather_string_parts(runtime.execute(program_->program));
        for (auto& part : rendered->val_str.parts) {
            parts.push_back({std::move(part.val), !part.is_input});
        }
    } catch (const Error&) {
        throw;
    } catch (const std::exception& error) {
        throw Error(SOTTO_ERROR_ARGUMENT, std::string("the model's chat template refuses: ") + error.what());
    }
    return parts;
}

} // namespace sotto::llama
