// Renders conversations with a model's chat template.
#include "chat/chat.hpp"

#include "chat/disguise.hpp"
#include "chat/forced_call.hpp"
#include "chat/jinja/limits.hpp"
#include "media/media.hpp"
#include "request/fields.hpp"
#include "runtime/json_parts.hpp"

#include <algorithm>
#include <initializer_list>
#include <tuple>

namespace sotto::llama {
namespace {

const auto& kNothing = *new std::vector<std::string>;

common_json to_common(const Json& value) {
    return common_json::parse(text_of(value));
}

void check_parts(const Json& messages) {
    for (std::size_t i = 0; i < messages.size(); ++i) {
        const auto* content = find(messages[i], "content");
        for (const auto& part : content != nullptr && content->is_array() ? *content : Json::array()) {
            check_reads(part, "messages[" + std::to_string(i) + "]");
        }
    }
}

// Returns a copy of `object` with only the members `keys`, which llama.cpp reads. Other members would cost
// time, because llama.cpp searches objects linearly.
Json only(const Json& object, std::initializer_list<const char*> keys) {
    auto kept = Json::object();
    for (const char* key : keys) {
        if (const auto found = object.find(key); found != object.end()) {
            kept[key] = *found;
        }
    }
    return kept;
}

Json only_read(const Json& messages) {
    auto kept = Json::array();
    for (const auto& message : messages) {
        auto& one = kept.emplace_back(
            only(message, {"role", "content", "reasoning_content", "name", "tool_calls", "tool_call_id"})
        );
        if (const auto content = one.find("content"); content != one.end() && content->is_array()) {
            for (auto& part : *content) {
                part = only(part, {"type", "text", "medium"});
            }
        }
        if (const auto calls = one.find("tool_calls"); calls != one.end() && calls->is_array()) {
            for (auto& call : *calls) {
                call = only(call, {"id", "type", "function"});
                call["function"] = only(call.at("function"), {"name", "arguments"});
            }
        }
    }
    return kept;
}

// Replaces each image and sound of a message by a placeholder that Disguise::reveal() finds in the rendered
// prompt. Returns the number of placeholders.
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
                " images and sounds; use another template"
        );
    }
}

void add_thinking(common_chat_templates_inputs& inputs, const Json& body) {
    if (const auto* more = find(body, field::chat_template_kwargs)) {
        for (const auto& [name, value] : more->items()) {
            inputs.chat_template_kwargs[name] = text_of(value);
        }
        if (const auto* enabled = find(*more, "enable_thinking")) {
            inputs.enable_thinking = *enabled == true;
        }
    }
    if (const auto* effort = find(body, field::reasoning_effort)) {
        inputs.enable_thinking = inputs.enable_thinking && *effort != "none";
        if (*effort != "none") {
            inputs.chat_template_kwargs["reasoning_effort"] = effort->dump();
        }
    }
    const auto* format = find(body, field::reasoning_format);
    inputs.reasoning_format =
        format != nullptr && *format == "none" ? COMMON_REASONING_FORMAT_NONE : COMMON_REASONING_FORMAT_AUTO;
}

// Returns a conversation with the messages `said`, the first by the user, the next by the assistant, and so
// on.
common_chat_templates_inputs conversation(const std::vector<std::string>& said) {
    common_chat_templates_inputs inputs;
    for (const auto& text : said) {
        auto& message = inputs.messages.emplace_back();
        message.role = inputs.messages.size() % 2 == 1 ? "user" : "assistant";
        message.content = text;
    }
    return inputs;
}

// Returns the text between the user's message "Hello." and `answer`, and the text between `answer` and the
// user's message "Why?". Returns empty texts if these messages are not in this order.
std::pair<std::string, std::string> around(const std::string& answer, const std::string& rendered) {
    const auto requested = rendered.find("Hello.");
    const auto begin = rendered.find(answer);
    const auto next = rendered.find("Why?");
    if (requested >= begin || begin >= next || next == std::string::npos) {
        return {};
    }
    return {
        rendered.substr(requested, begin - requested),
        rendered.substr(begin + answer.size(), next - begin - answer.size()),
    };
}

} // namespace

Chat::Chat(
    const llama_model* model,
    const Tokenizer& tokenizer,
    const Constraints& constraints,
    const std::string& source
)
    : tokenizer_(tokenizer), constraints_(constraints), template_(model, source),
      can_(template_.capabilities()) {
    try {
        const auto params = template_.apply(conversation({"Hello."}), {});
        thinks_ = params.supports_thinking;
        if (thinks_) {
            looked_for_ = marks_of_thoughts(params);
        }
    } catch (const TemplateError&) {
        throw;
    } catch (const std::exception& error) { // the template refuses this conversation, but may accept others
        throw_if_out_of_memory(error);
        thinks_ = true;
    }
}

// Returns the markers around reasoning, which the template may look for in earlier answers. Omits text that
// the template also writes around an answer without reasoning: such text starts or ends a turn.
std::vector<std::string> Chat::marks_of_thoughts(const common_chat_params& params) const {
    auto inputs = conversation({"Hello.", "Come in.", "Why?"});
    inputs.add_generation_prompt = false;
    inputs.force_pure_content = true;
    std::string before;
    std::string after;
    try {
        std::tie(before, after) = around("Come in.", template_.apply(inputs, {}).prompt);
    } catch (const TemplateError&) {
        throw;
    } catch (const std::exception& error) { // the template refuses this conversation
        throw_if_out_of_memory(error);
    }
    const auto has = [](const std::string& text) {
        return [&](const std::string& mark) { return !mark.empty() && text.find(mark) != std::string::npos; };
    };
    auto marks = params.thinking_end_tags;
    // true if the template writes an empty, complete reasoning block before the answer
    const bool thought = std::any_of(marks.begin(), marks.end(), has(before));
    if (thought || !has(before)(params.thinking_start_tag)) {
        marks.push_back(params.thinking_start_tag);
    }
    std::erase_if(marks, has(after));
    return marks;
}

std::size_t Chat::overhead() const {
    constexpr std::size_t kUnknown = 4;
    const auto tokens = [&](const std::vector<std::string>& said) {
        auto inputs = conversation(said);
        inputs.add_generation_prompt = false;
        inputs.force_pure_content = true;
        return tokenizer_.cut(template_.apply(inputs, {}).prompt, true).size();
    };
    try {
        const auto twice = tokens({"Hello.", "Come in.", "Hello.", "Come in."});
        const auto once = tokens({"Hello.", "Come in."});
        const auto said = tokenizer_.cut("Hello.", false).size() + tokenizer_.cut("Come in.", false).size();
        return twice > once + said ? (twice - once - said) / 2 : 0;
    } catch (const std::exception&) { // the template refuses this conversation
        return kUnknown;
    }
}

// Returns true if the template has a feature, by llama.cpp's name.
bool Chat::can(const std::string& feature) const {
    const auto found = can_.find(feature);
    return found != can_.end() && found->second;
}

Json Chat::capabilities() const {
    auto json = Json::object();
    json["tools"] = can("supports_tools");
    json["parallel_tool_calls"] = can("supports_parallel_tool_calls");
    json["system_role"] = can("supports_system_role");
    json["reasoning"] = thinks_;
    return json;
}

// Returns the tools that "tool_choice" allows, each with a schema that constrains its arguments.
std::vector<common_chat_tool>
Chat::tools_of(const Json& body, common_chat_tool_choice& choice, SchemaRules& rules) const {
    const auto* tools = find(body, field::tools);
    const auto* requested = find(body, field::tool_choice);
    choice = COMMON_CHAT_TOOL_CHOICE_AUTO;
    if (tools == nullptr || tools->empty() || (requested != nullptr && *requested == "none")) {
        choice = COMMON_CHAT_TOOL_CHOICE_NONE;
        return {};
    }
    const bool one = requested != nullptr && requested->is_object();
    if (one || (requested != nullptr && *requested == "required")) {
        choice = COMMON_CHAT_TOOL_CHOICE_REQUIRED;
    }
    std::vector<common_chat_tool> kept;
    for (std::size_t i = 0; i < tools->size(); ++i) {
        const auto& function = (*tools)[i].at("function");
        if (one && function.at("name") != requested->at("function").at("name")) {
            continue;
        }
        std::string schema = "{}";
        if (const auto* parameters = find(function, "parameters")) {
            const auto held = constraints_.argument_schema(*parameters, i);
            rules.insert(held->rules.begin(), held->rules.end());
            schema = held->schema;
        }
        kept.push_back({function.at("name"), value_or<std::string>(function, "description", ""), schema});
    }
    return kept;
}

common_chat_templates_inputs Chat::inputs_of(const Json& body, SchemaRules& rules) const {
    common_chat_templates_inputs inputs;
    inputs.tools = tools_of(body, inputs.tool_choice, rules);
    inputs.parallel_tool_calls =
        value_or(body, field::parallel_tool_calls, can("supports_parallel_tool_calls"));
    if (const auto held = constraints_.answer_schema(body)) {
        rules.insert(held->rules.begin(), held->rules.end());
        inputs.json_schema = held->schema;
    }
    add_thinking(inputs, body);
    inputs.add_generation_prompt = flag(body, field::add_generation_prompt);
    if (flag(body, field::continue_final_message)) {
        inputs.continue_final_message = COMMON_CHAT_CONTINUATION_AUTO;
        inputs.add_generation_prompt = false;
    }
    return inputs;
}

// Returns true if rendering the template is enough and answers are plain text. Detecting the format that a
// template requires takes milliseconds.
bool Chat::is_plain(const common_chat_templates_inputs& inputs) const {
    return !thinks_ && inputs.tools.empty() && inputs.json_schema.empty() &&
           inputs.continue_final_message == COMMON_CHAT_CONTINUATION_NONE;
}

ChatPrompt Chat::prompt(const Json& body) const {
    SchemaRules rules;
    auto inputs = inputs_of(body, rules);
    Disguise disguise(tokenizer_);
    auto messages = only_read(body.at(field::messages.name));
    check_parts(messages);
    const bool must_call = inputs.tool_choice == COMMON_CHAT_TOOL_CHOICE_REQUIRED;
    if (must_call && !can("supports_tools")) {
        show_tools(messages, inputs);
    }
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
    prompt.must_call = must_call;
    if (must_call) {
        prompt.shortest_calls = shortest_calls(body.at(field::tools.name));
    }
    const bool plain = is_plain(inputs);
    inputs.force_pure_content = plain;
    try {
        inputs.messages = common_chat_msgs_parse_oaicompat(to_common(messages));
        prompt.how = template_.apply(inputs, rules);
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
    } catch (const TemplateError& error) {
        throw Error(SOTTO_ERROR_MODEL, std::string("the model's chat template is refused: ") + error.what());
    } catch (const Error&) {
        throw;
    } catch (const std::exception& error) {
        throw_if_out_of_memory(error);
        throw Error(SOTTO_ERROR_ARGUMENT, std::string("the model's chat template refuses: ") + error.what());
    }
    return prompt;
}

} // namespace sotto::llama
