// Parses the bodies of OpenAI's Responses API, and converts them to chats.
#include <algorithm>
#include <array>
#include <string>

#include "base/error.hpp"
#include "core/codec/checks.hpp"
#include "core/codec/codec.hpp"
#include "request/fields.hpp"
#include "text/ordered_json.hpp"

namespace sotto {
namespace {

constexpr std::array<std::string_view, 4> kItemRoles = {"user", "assistant", "system", "developer"};
constexpr const char* kItemRolesInWords = "user, assistant, system or developer";
constexpr const char* kInputForms = "a string, or an array of 1 to 65,536 items";
constexpr const char* kItemTypes = "\"message\", \"function_call\" or \"function_call_output\"";
constexpr const char* kPartTypes = "\"input_text\", \"output_text\", \"input_image\" or \"input_audio\"";

const std::string& respond_text(const Fields& object, const char* key) {
    const Json& text = object.require(key, "a string");
    if (!text.is_string()) {
        object.refuse(key, text, "a string");
    }
    return text.get_ref<const std::string&>();
}

const Json* respond_object(const Fields& owner, const char* key) {
    const Json* value = owner.find(key);
    if (value != nullptr && !value->is_object()) {
        owner.refuse(key, *value, "a JSON object");
    }
    return value;
}

// Converts the items of `input` to messages of a chat.
class InputReader {
public:
    void read(const Fields& body) {
        const Json& input = body.require(field::input, kInputForms);
        if (input.is_string()) {
            messages_.push_back({{"role", "user"}, {"content", input.get<std::string>()}});
            return;
        }
        if (!input.is_array() || input.empty() || input.size() > field::messages.items) {
            body.refuse(field::input, input, kInputForms);
        }
        for (std::size_t i = 0; i < input.size(); ++i) {
            add(object_at(input, i, field::input.name));
        }
        if (messages_.empty()) {
            body.refuse(field::input, input, "at least one item that is not reasoning");
        }
    }

    std::vector<std::string> take() const {
        std::vector<std::string> texts;
        for (const auto& message : messages_) {
            texts.push_back(to_text(message));
        }
        return texts;
    }

private:
    void add(const Fields& item) {
        const Json* type = item.find("type"); // messages may leave it out
        if (type == nullptr || *type == "message") {
            add_message(item);
        } else if (*type == "function_call") {
            add_call(item);
        } else if (*type == "function_call_output") {
            messages_.push_back(
                {{"role", "tool"},
                 {"tool_call_id", respond_text(item, "call_id")},
                 {"content", output_of(item)}}
            );
        } else if (*type != "reasoning") { // of an earlier answer: models do not see it again
            item.refuse("type", *type, kItemTypes);
        }
    }

    void add_message(const Fields& item) {
        const auto& role = respond_text(item, "role");
        if (std::find(kItemRoles.begin(), kItemRoles.end(), role) == kItemRoles.end()) {
            item.refuse("role", role, kItemRolesInWords);
        }
        messages_.push_back({{"role", role}, {"content", content_of(item)}});
    }

    // Calls follow the text of the same answer in one message, as the engine stores an answer.
    void add_call(const Fields& item) {
        const auto& arguments = respond_text(item, "arguments");
        if (!try_parse_json(arguments).is_object()) {
            item.refuse("arguments", arguments, "a JSON object, written as a string");
        }
        Ordered call = {
            {"id", respond_text(item, "call_id")},
            {"type", "function"},
            {"function", {{"name", respond_text(item, "name")}, {"arguments", arguments}}},
        };
        if (messages_.empty() || messages_.back()["role"] != "assistant") {
            messages_.push_back({{"role", "assistant"}, {"content", nullptr}});
        }
        messages_.back()["tool_calls"].push_back(std::move(call));
    }

    static Ordered content_of(const Fields& item) {
        const Json& content = item.require("content", "a string or an array of parts");
        if (content.is_string()) {
            return content.get<std::string>();
        }
        if (!content.is_array() || content.empty()) {
            item.refuse("content", content, "a string or an array of parts");
        }
        auto parts = Ordered::array();
        for (std::size_t i = 0; i < content.size(); ++i) {
            parts.push_back(part_of(object_at(content, i, item.path("content"))));
        }
        if (parts.size() == 1 && parts[0]["type"] == "text") {
            return parts[0]["text"]; // as the engine stores an answer
        }
        return parts;
    }

    static Ordered part_of(const Fields& part) {
        const Json& type = part.require("type", kPartTypes);
        if (type == "input_text" || type == "output_text" || type == "text") {
            return {{"type", "text"}, {"text", respond_text(part, "text")}};
        }
        if (type == "refusal") {
            return {{"type", "text"}, {"text", respond_text(part, "refusal")}};
        }
        if (type == "input_image") {
            const auto& url = respond_text(part, "image_url");
            if (!url.starts_with("data:")) {
                part.refuse("image_url", url, "a data URL; Sotto fetches no URLs");
            }
            return {{"type", "image_url"}, {"image_url", {{"url", url}}}};
        }
        if (type == "input_audio") {
            const Json* audio = respond_object(part, "input_audio");
            const Fields sound(
                audio == nullptr ? part.require("input_audio", "a JSON object") : *audio,
                part.path("input_audio")
            );
            Ordered converted = {{"data", respond_text(sound, "data")}};
            if (sound.find("format") != nullptr) {
                converted["format"] = respond_text(sound, "format");
            }
            return {{"type", "input_audio"}, {"input_audio", std::move(converted)}};
        }
        throw Error(SOTTO_ERROR_UNSUPPORTED, invalid(part.path("type"), excerpt(type), kPartTypes));
    }

    static std::string output_of(const Fields& item) {
        const Json& output = item.require("output", "a string or an array of text parts");
        if (output.is_string()) {
            return output.get<std::string>();
        }
        if (!output.is_array()) {
            item.refuse("output", output, "a string or an array of text parts");
        }
        std::string text;
        for (std::size_t i = 0; i < output.size(); ++i) {
            text += respond_text(object_at(output, i, item.path("output")), "text");
        }
        return text;
    }

    std::vector<Ordered> messages_;
};

// Converts tools, whose functions are not nested in the Responses API, to those of a chat.
Ordered chat_tools_of(const Fields& body, const Ordered& tools) {
    const Json* read = body.find(field::tools);
    if (!read->is_array() || read->size() > field::tools.items) {
        body.refuse(
            field::tools, *read, "an array of at most " + std::to_string(field::tools.items) + " functions"
        );
    }
    auto converted = Ordered::array();
    for (std::size_t i = 0; i < tools.size(); ++i) {
        const auto tool = object_at(*read, i, field::tools.name);
        const Json& type = tool.require("type", "\"function\"");
        if (type != "function") {
            tool.refuse("type", type, "\"function\"");
        }
        respond_text(tool, "name");
        auto function = tools[i];
        function.erase("type");
        function.erase("strict");
        converted.push_back({{"type", "function"}, {"function", std::move(function)}});
    }
    return converted;
}

Ordered chat_choice_of(const Fields& body, const Ordered& choice) {
    const Json& read = *body.find(field::tool_choice);
    if (!read.is_object()) {
        return choice;
    }
    const Fields named(read, field::tool_choice.name);
    const Json& type = named.require("type", "\"function\"");
    if (type != "function") {
        named.refuse("type", type, "\"function\"");
    }
    return {{"type", "function"}, {"function", {{"name", respond_text(named, "name")}}}};
}

// Converts `text.format` to the `response_format` of a chat; null: text.
Ordered chat_format_of(const Fields& body, const Ordered& text) {
    const Json* read = respond_object(body, field::text);
    const Fields fields(*read, field::text.name);
    const Json* format = respond_object(fields, "format");
    if (format == nullptr) {
        return nullptr;
    }
    const Fields named(*format, "text.format");
    const Json& type = named.require("type", "\"text\", \"json_object\" or \"json_schema\"");
    if (type == "json_schema") {
        named.require("schema", "a JSON schema");
        Ordered schema = {{"schema", text["format"]["schema"]}};
        return {{"type", "json_schema"}, {"json_schema", std::move(schema)}};
    }
    if (type != "text" && type != "json_object") {
        named.refuse("type", type, "\"text\", \"json_object\" or \"json_schema\"");
    }
    return {{"type", type.get<std::string>()}};
}

void check_metadata(const Fields& body) {
    constexpr auto& kMetadata = field::metadata;
    const Json* metadata = respond_object(body, kMetadata);
    if (metadata == nullptr) {
        return;
    }
    if (metadata->size() > kMetadata.items) {
        body.refuse(kMetadata, *metadata, "at most " + std::to_string(kMetadata.items) + " members");
    }
    for (const auto& [name, value] : metadata->items()) {
        if (!value.is_string() || value.get_ref<const std::string&>().size() > kMetadata.max_bytes) {
            const auto path = std::string(kMetadata.name) + "." + excerpt(name);
            body.refuse(
                path.c_str(), value, "a string of at most " + std::to_string(kMetadata.max_bytes) + " bytes"
            );
        }
    }
}

// Fields of this API that a chat does not have.
constexpr const RequestField* kOwn[] = {
    &field::input,
    &field::instructions,
    &field::previous_response_id,
    &field::store,
    &field::metadata,
    &field::max_output_tokens,
    &field::text,
    &field::reasoning,
    &field::truncation,
};

// Returns the body of a chat, without messages.
Ordered chat_of(const Fields& body, const Ordered& request) {
    auto chat = request;
    for (const auto* own : kOwn) {
        chat.erase(own->name);
    }
    const auto asked = [&](const RequestField& key) { return body.find(key) != nullptr; };
    if (asked(field::tools)) {
        chat[field::tools.name] = chat_tools_of(body, request.at(field::tools.name));
    }
    if (asked(field::tool_choice)) {
        chat[field::tool_choice.name] = chat_choice_of(body, request.at(field::tool_choice.name));
    }
    if (asked(field::text)) {
        if (auto format = chat_format_of(body, request.at(field::text.name)); !format.is_null()) {
            chat[field::response_format.name] = std::move(format);
        }
    }
    if (const auto limit = body.integer(field::max_output_tokens)) {
        chat[field::max_tokens.name] = *limit;
    }
    if (const auto* cut = body.choice(field::truncation)) {
        chat[field::context_overflow.name] = *cut == "auto" ? "truncate" : "error";
    }
    if (const Json* reasoning = respond_object(body, field::reasoning)) {
        if (const Json* effort = Fields(*reasoning, field::reasoning.name).find("effort")) {
            chat[field::reasoning_effort.name] = parse_ordered(to_text(*effort));
        }
    }
    return chat;
}

// Returns the fields that a response repeats, with their defaults.
std::string echo_of(const Ordered& request, const RespondTerms& terms) {
    Ordered echo = Ordered::object();
    const auto add = [&](const char* key, Ordered otherwise) {
        const auto found = request.find(key);
        echo[key] = found == request.end() || found->is_null() ? std::move(otherwise) : *found;
    };
    add("instructions", nullptr);
    add("max_output_tokens", nullptr);
    add("metadata", Ordered::object());
    add("parallel_tool_calls", true);
    add("previous_response_id", nullptr);
    add("reasoning", {{"effort", nullptr}, {"summary", nullptr}});
    echo["store"] = terms.store;
    add("temperature", field::temperature.fallback);
    add("text", {{"format", {{"type", "text"}}}});
    add("tool_choice", "auto");
    add("tools", Ordered::array());
    add("top_p", field::top_p.fallback);
    add("truncation", "auto");
    return to_text(echo);
}

// Runs `read`, which reads the request as a chat. Names fields in errors as this API does.
template <typename Read>
ParsedRequest as_chat(Read read) {
    constexpr std::pair<std::string_view, std::string_view> kNames[] = {
        {"response_format.json_schema", "text.format"},
        {"response_format", "text.format"},
        {"tool_choice.function", "tool_choice.name"},
        {"reasoning_effort", "reasoning.effort"},
    };
    try {
        return read();
    } catch (const Error& error) {
        std::string why = error.what();
        const auto at = why.find(' ') + 1;
        for (const auto& [chat, ours] : kNames) {
            if (std::string_view(why).substr(at).starts_with(chat)) {
                why.replace(at, chat.size(), ours);
                break;
            }
        }
        constexpr std::string_view kNested = "].function";
        const auto tool =
            std::string_view(why).substr(at).starts_with("tools[") ? why.find(kNested) : why.npos;
        if (tool != why.npos) {
            why.replace(tool, kNested.size(), "]");
        }
        throw Error(error.status(), why);
    }
}

} // namespace

sotto_op backend_operation(sotto_op op) noexcept {
    return op == SOTTO_OP_RESPOND ? SOTTO_OP_CHAT : op;
}

ParsedRequest read_respond(std::string_view text, const std::atomic<bool>* cancelled) {
    const Json object = parse_object(text, "request", cancelled);
    const Fields body(object, "");
    auto unknown = check_names(SOTTO_OP_RESPOND, object);
    check_values(SOTTO_OP_RESPOND, body);
    read_model(body, true);
    check_metadata(body);
    InputReader input;
    input.read(body);
    auto request = parse_ordered(text, cancelled);
    RespondTerms terms;
    const auto text_of = [&](const RequestField& key) {
        const auto* found = body.text(key);
        return found == nullptr ? std::string() : *found;
    };
    terms.previous = text_of(field::previous_response_id);
    terms.instructions = text_of(field::instructions);
    terms.store = body.boolean(field::store).value_or(true);
    terms.echo = echo_of(request, terms);
    for (const auto& name : unknown) {
        request.erase(name);
    }
    const auto rest = chat_of(body, request);
    auto chat = rest;
    chat[field::messages.name] =
        Ordered::array({{{"role", "user"}, {"content", ""}}}); // the input is checked
    auto parsed = as_chat([&] { return read_request(SOTTO_OP_CHAT, to_text(chat), cancelled); });
    parsed.session.messages = input.take();
    parsed.session.rest = to_text(rest);
    parsed.form = parsed.form == field::response_format.name ? "text.format" : parsed.form;
    parsed.unknown = std::move(unknown);
    parsed.respond = std::move(terms);
    return parsed;
}

} // namespace sotto
