// Conversations in the form that a model was taught.
#include "chat.hpp"

#include "constraints.hpp"
#include "disguise.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace sotto::llama {
namespace {

using Json = nlohmann::ordered_json;
using Rules = std::map<std::string, std::string>; // what mended_grammar() puts in

const std::vector<std::string> kNothing;
constexpr const char* kMediaMarker = "media_marker";

const Json* find(const Json& body, const char* key) {
    const auto found = body.find(key);
    return found == body.end() || found->is_null() ? nullptr : &*found;
}

common_json to_common(const Json& value) {
    return common_json::parse(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

// The tools that may be called, after "tool_choice", each with a schema that its arguments can be held to.
Json tools_of(const Json& body, common_chat_tool_choice& choice, Rules& rules) {
    const auto* tools = find(body, "tools");
    const auto* asked = find(body, "tool_choice");
    choice = COMMON_CHAT_TOOL_CHOICE_AUTO;
    if (tools == nullptr || tools->empty() || (asked != nullptr && *asked == "none")) {
        choice = COMMON_CHAT_TOOL_CHOICE_NONE;
        return Json::array();
    }
    const bool one = asked != nullptr && asked->is_object();
    if (one || (asked != nullptr && *asked == "required")) {
        choice = COMMON_CHAT_TOOL_CHOICE_REQUIRED;
    }
    auto kept = Json::array();
    for (std::size_t i = 0; i < tools->size(); ++i) {
        auto tool = (*tools)[i];
        auto& function = tool["function"];
        if (one && function["name"] != (*asked)["function"]["name"]) {
            continue;
        }
        if (const auto* parameters = find(function, "parameters")) {
            auto held = argument_schema(*parameters, i);
            rules.merge(held.rules);
            function["parameters"] = std::move(held.schema);
        }
        kept.push_back(std::move(tool));
    }
    return kept;
}

void check_parts(const Json& messages) {
    for (std::size_t i = 0; i < messages.size(); ++i) {
        const auto* content = find(messages[i], "content");
        for (const auto& part : content != nullptr && content->is_array() ? *content : Json::array()) {
            if (part.at("type") != "text" && part.at("type") != kMediaMarker) {
                throw Error(
                    SOTTO_ERROR_UNSUPPORTED,
                    "messages[" + std::to_string(i) + "] has content of type " + part.at("type").dump() +
                        ", and this model reads \"text\""
                );
            }
        }
    }
}

// Where an image or sound is, the template sees what the disguise knows again. Returns how many there are.
int mark_media(Json& message, Disguise& disguise) {
    const auto content = message.find("content");
    int marked = 0;
    if (content == message.end() || !content->is_array()) {
        return 0;
    }
    for (auto& part : *content) {
        if (part.at("type") == kMediaMarker) {
            part["text"] = disguise.stand_in(part.at("medium").get<int>());
            ++marked;
        }
    }
    return marked;
}

void check_shown(const std::vector<PromptPart>& parts, int media) {
    const auto shown =
        std::count_if(parts.begin(), parts.end(), [](const PromptPart& part) { return part.medium >= 0; });
    if (shown != media) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            "the model's chat template shows " + std::to_string(shown) + " of " + std::to_string(media) +
                " images and sounds"
        );
    }
}

void add_thinking(common_chat_templates_inputs& inputs, const Json& body) {
    if (const auto* more = find(body, "chat_template_kwargs")) {
        for (const auto& [name, value] : more->items()) {
            inputs.chat_template_kwargs[name] = value.dump(-1, ' ', false, Json::error_handler_t::replace);
        }
        if (const auto* enabled = find(*more, "enable_thinking")) {
            inputs.enable_thinking = *enabled == true;
        }
    }
    if (const auto* effort = find(body, "reasoning_effort")) {
        inputs.enable_thinking = inputs.enable_thinking && *effort != "none";
        if (*effort != "none") {
            inputs.chat_template_kwargs["reasoning_effort"] = effort->dump();
        }
    }
    const auto* format = find(body, "reasoning_format");
    inputs.reasoning_format =
        format != nullptr && *format == "none" ? COMMON_REASONING_FORMAT_NONE : COMMON_REASONING_FORMAT_AUTO;
}

} // namespace

Chat::Chat(const llama_model* model, const Tokenizer& tokenizer, const std::string& source)
    : tokenizer_(tokenizer), templates_(common_chat_templates_init(model, source)),
      can_(common_chat_templates_get_caps(templates_.get())) {
    common_chat_templates_inputs inputs;
    inputs.messages = {{}};
    inputs.messages.front().role = "user";
    inputs.messages.front().content = "Hello.";
    try {
        const auto params = common_chat_templates_apply(templates_.get(), inputs);
        thinks_ = params.supports_thinking;
        if (thinks_) {
            looked_for_ = params.thinking_end_tags;
            looked_for_.push_back(params.thinking_start_tag);
        }
    } catch (const std::exception&) { // it renders no such conversation; others may be to its taste
        thinks_ = true;
    }
}

nlohmann::ordered_json Chat::capabilities() const {
    auto told = Json::object();
    told["tools"] = can_.contains("supports_tools") && can_.at("supports_tools");
    told["parallel_tool_calls"] =
        can_.contains("supports_parallel_tool_calls") && can_.at("supports_parallel_tool_calls");
    told["system_role"] = can_.contains("supports_system_role") && can_.at("supports_system_role");
    told["reasoning"] = thinks_;
    return told;
}

common_chat_templates_inputs Chat::inputs_of(const Json& body, Rules& rules) const {
    common_chat_templates_inputs inputs;
    inputs.tools = common_chat_tools_parse_oaicompat(to_common(tools_of(body, inputs.tool_choice, rules)));
    const auto* parallel = find(body, "parallel_tool_calls");
    const auto taught = can_.find("supports_parallel_tool_calls");
    inputs.parallel_tool_calls =
        parallel != nullptr ? *parallel == true : taught != can_.end() && taught->second;
    if (auto held = answer_schema(body); !held.schema.is_null()) {
        rules.merge(held.rules);
        inputs.json_schema = held.schema.dump(-1, ' ', false, Json::error_handler_t::replace);
    }
    add_thinking(inputs, body);
    const auto* begun = find(body, "add_generation_prompt");
    inputs.add_generation_prompt = begun == nullptr || *begun == true;
    const auto* proceed = find(body, "continue_final_message");
    if (proceed != nullptr && *proceed == true) {
        inputs.continue_final_message = COMMON_CHAT_CONTINUATION_AUTO;
        inputs.add_generation_prompt = false;
    }
    return inputs;
}

// Whether the template alone does: its answers are what is said. Finding out how a template wants more than
// that takes milliseconds.
bool Chat::is_plain(const common_chat_templates_inputs& inputs) const {
    return !thinks_ && inputs.tools.empty() && inputs.json_schema.empty() &&
           inputs.continue_final_message == COMMON_CHAT_CONTINUATION_NONE;
}

ChatPrompt Chat::prompt(const Json& body) const {
    Rules rules;
    auto inputs = inputs_of(body, rules);
    Disguise disguise(tokenizer_);
    auto messages = body.at("messages");
    check_parts(messages);
    int media = 0;
    for (auto& message : messages) {
        disguise.hide(message, message.at("role") == "assistant" ? looked_for_ : kNothing);
        media += mark_media(message, disguise);
    }
    for (auto& tool : inputs.tools) {
        tool.description = disguise.hide(tool.description, kNothing);
        tool.parameters = disguise.hide(tool.parameters, kNothing);
    }
    ChatPrompt prompt;
    const bool plain = is_plain(inputs);
    inputs.force_pure_content = plain;
    try {
        inputs.messages = common_chat_msgs_parse_oaicompat(to_common(messages));
        prompt.how = common_chat_templates_apply(templates_.get(), inputs);
        if (prompt.how.grammar.empty() && inputs.tool_choice == COMMON_CHAT_TOOL_CHOICE_REQUIRED) {
            throw Error(
                SOTTO_ERROR_UNSUPPORTED,
                "tool_choice requires a call, and this model's chat template has no form for one"
            );
        }
        prompt.how.grammar = prompt.how.grammar.empty() ? "" : mended_grammar(prompt.how.grammar, rules);
        prompt.parts = disguise.reveal(prompt.how.prompt);
        check_shown(prompt.parts, media);
        if (!plain) {
            const AnswerParser::How how = {
                .tools = !inputs.tools.empty(),
                .reasoning = inputs.reasoning_format != COMMON_REASONING_FORMAT_NONE,
                .continuation = inputs.continue_final_message != COMMON_CHAT_CONTINUATION_NONE,
            };
            prompt.parser = std::make_unique<AnswerParser>(prompt.how, how);
        }
    } catch (const Error&) {
        throw;
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::exception& error) {
        throw Error(SOTTO_ERROR_ARGUMENT, std::string("the model's chat template refuses: ") + error.what());
    }
    return prompt;
}

} // namespace sotto::llama
