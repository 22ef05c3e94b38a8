// Validates conversations: messages, their parts, and tools.
#include <algorithm>
#include <array>
#include <string>

#include "base/error.hpp"
#include "core/codec/checks.hpp"
#include "request/fields.hpp"

namespace sotto {
namespace {

constexpr std::array<std::string_view, 5> kRoles = {"system", "developer", "user", "assistant", "tool"};
constexpr const char* kRolesInWords = "system, developer, user, assistant or tool";
constexpr const char* kContent = "a string or an array of parts";
constexpr std::size_t kMaxArguments = 4096;
constexpr std::size_t kLongestName = 64;

const Json& require_string(const Fields& object, const char* key) {
    const Json& text = object.require(key, "a string");
    if (!text.is_string()) {
        object.refuse(key, text, "a string");
    }
    return text;
}

Fields require_object(const Fields& object, const char* key) {
    const Json& value = object.require(key, "a JSON object");
    if (!value.is_object()) {
        object.refuse(key, value, "a JSON object");
    }
    return Fields(value, object.path(key));
}

void check_image(const Fields& image) {
    const Json& url = require_string(image, "url");
    if (!url.get_ref<const std::string&>().starts_with("data:")) {
        image.refuse("url", url, "a data URL; Sotto fetches no URLs");
    }
}

void check_audio(const Fields& audio) {
    require_string(audio, "data");
    const Json* format = audio.find("format");
    if (format != nullptr && *format != "wav" && *format != "mp3" && *format != "flac") {
        audio.refuse("format", *format, "\"wav\", \"mp3\" or \"flac\"");
    }
}

void check_part(const Fields& part) {
    const Json& type = part.require("type", "\"text\", \"image_url\" or \"input_audio\"");
    if (type == "text") {
        require_string(part, "text");
    } else if (type == "image_url") {
        check_image(require_object(part, "image_url"));
    } else if (type == "input_audio") {
        check_audio(require_object(part, "input_audio"));
    } else {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            invalid(part.path("type"), excerpt(type), "\"text\", \"image_url\" or \"input_audio\"")
        );
    }
}

void check_content(const Fields& message) {
    const Json& content = message.require("content", kContent);
    if (content.is_string()) {
        return;
    }
    if (!content.is_array() || content.empty()) {
        message.refuse("content", content, kContent);
    }
    check_parts(content, message.path("content"));
}

// Limits depth and fields, because backends parse arguments into objects that they search linearly.
void check_arguments(const Fields& function, const Json& arguments) {
    constexpr int kDeepest = 128;
    std::size_t fields = 0;
    bool shallow = true;
    const auto look = [&](int depth, Json::parse_event_t event, const Json&) {
        fields += event == Json::parse_event_t::key ? 1 : 0;
        shallow = shallow && depth <= kDeepest;
        return shallow && fields <= kMaxArguments;
    };
    const auto read = Json::parse(arguments.get_ref<const std::string&>(), look, false);
    if (fields > kMaxArguments || !shallow) {
        throw Error(
            SOTTO_ERROR_ARGUMENT,
            "invalid " + function.path("arguments") + " '" + excerpt(arguments) + "': expected at most " +
                std::to_string(kMaxArguments) + " fields, nested at most " + std::to_string(kDeepest) +
                " levels deep; shorten the arguments"
        );
    }
    if (!read.is_object()) {
        function.refuse("arguments", arguments, "a JSON object, written as a string");
    }
}

void check_calls(const Fields& message, const Json& calls) {
    if (!calls.is_array() || calls.empty()) {
        message.refuse("tool_calls", calls, "an array with at least one call");
    }
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const auto call = object_at(calls, i, message.path("tool_calls"));
        if (const Json* type = call.find("type"); type != nullptr && *type != "function") {
            call.refuse("type", *type, "\"function\"");
        }
        const auto function = require_object(call, "function");
        require_string(function, "name");
        check_arguments(function, require_string(function, "arguments"));
    }
}

void check_message(const Fields& message) {
    const Json& role = message.require("role", kRolesInWords);
    if (!role.is_string() ||
        std::find(kRoles.begin(), kRoles.end(), role.get_ref<const std::string&>()) == kRoles.end()) {
        message.refuse("role", role, kRolesInWords);
    }
    const Json* calls = message.find("tool_calls");
    if (calls != nullptr) {
        check_calls(message, *calls);
    }
    if (calls == nullptr || message.find("content") != nullptr) {
        check_content(message);
    }
    for (const char* key : {"name", "reasoning_content", "tool_call_id"}) {
        if (message.find(key) != nullptr) {
            require_string(message, key);
        }
    }
}

// Returns true if a tool's name follows OpenAI's rule; such names are safe in any chat template.
bool is_name(const Json& name) {
    if (!name.is_string()) {
        return false;
    }
    const auto& text = name.get_ref<const std::string&>();
    const auto plain = [](unsigned char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
               c == '-';
    };
    return !text.empty() && text.size() <= kLongestName && std::all_of(text.begin(), text.end(), plain);
}

std::string check_tool(const Fields& tool) {
    const Json& type = tool.require("type", "\"function\"");
    if (type != "function") {
        tool.refuse("type", type, "\"function\"");
    }
    const auto function = require_object(tool, "function");
    const char* what = "1 to 64 letters, digits, \"_\" or \"-\"";
    const Json& name = function.require("name", what);
    if (!is_name(name)) {
        function.refuse("name", name, what);
    }
    if (function.find("description") != nullptr) {
        require_string(function, "description");
    }
    if (function.find("parameters") != nullptr) {
        require_object(function, "parameters");
    }
    return name.get<std::string>();
}

void check_choice(const Fields& body, const std::vector<std::string>& names) {
    const Json* choice = body.find(field::tool_choice);
    if (choice == nullptr) {
        return;
    }
    if (choice->is_object()) {
        const auto name = require_object(Fields(*choice, field::tool_choice.name), "function")
                              .require("name", "a tool's name");
        if (!name.is_string() ||
            std::find(names.begin(), names.end(), name.get_ref<const std::string&>()) == names.end()) {
            Fields(*choice, field::tool_choice.name).refuse("function", name, "the name of one of the tools");
        }
        return;
    }
    if (*choice != "auto" && *choice != "none" && *choice != "required") {
        body.refuse(
            field::tool_choice, *choice, "\"auto\", \"none\", \"required\" or an object that names a function"
        );
    }
    if (*choice == "required" && names.empty()) {
        body.refuse(field::tool_choice, *choice, "\"auto\" or \"none\" without tools");
    }
}

} // namespace

std::string element(const std::string& list, std::size_t i) {
    return list + "[" + std::to_string(i) + "]";
}

Fields object_at(const Json& list, std::size_t i, const std::string& path) {
    const auto name = element(path, i);
    if (!list[i].is_object()) {
        throw invalid_argument(name, excerpt(list[i]), "a JSON object");
    }
    return Fields(list[i], name);
}

void check_parts(const Json& parts, const std::string& path) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
        check_part(object_at(parts, i, path));
    }
}

void check_stored_message(std::string_view text) {
    const Json object = parse_object(text, "message");
    check_message(Fields(object, "message"));
}

void check_message_list(const Fields& body, bool may_be_empty) {
    if (may_be_empty && body.find(field::messages) == nullptr) {
        return;
    }
    const Json& messages = body.require(field::messages, "an array of messages");
    if (!messages.is_array() || (messages.empty() && !may_be_empty)) {
        const char* what = may_be_empty ? "an array of messages" : "an array with at least one message";
        body.refuse(field::messages, messages, what);
    }
    if (messages.size() > field::messages.items) {
        throw Error(
            SOTTO_ERROR_ARGUMENT,
            "invalid messages '" + std::to_string(messages.size()) + " messages': expected at most " +
                std::to_string(field::messages.items) + "; leave out the oldest, or let a session keep them"
        );
    }
    for (std::size_t i = 0; i < messages.size(); ++i) {
        check_message(object_at(messages, i, field::messages.name));
    }
}

void check_messages(const Fields& body, bool in_session) {
    if (!in_session) {
        check_message_list(body, false);
    }
    if (body.boolean(field::continue_final_message).value_or(false) && !in_session) {
        const Json& last = body.find(field::messages)->back();
        if (last.value("role", "") != "assistant" || last.contains("tool_calls")) {
            throw invalid_argument(
                field::continue_final_message.name,
                "true",
                "false unless the last message is the assistant's, without tool_calls"
            );
        }
    }
}

void check_tools(const Fields& body) {
    std::vector<std::string> names;
    if (const Json* tools = body.find(field::tools)) {
        if (!tools->is_array() || tools->size() > field::tools.items) {
            body.refuse(
                field::tools, *tools, "an array of at most " + std::to_string(field::tools.items) + " tools"
            );
        }
        for (std::size_t i = 0; i < tools->size(); ++i) {
            const auto tool = object_at(*tools, i, field::tools.name);
            auto name = check_tool(tool);
            if (std::find(names.begin(), names.end(), name) != names.end()) {
                throw Error(
                    SOTTO_ERROR_ARGUMENT,
                    invalid(element("tools", i) + ".function.name", name, "a unique name")
                );
            }
            names.push_back(std::move(name));
        }
    }
    check_choice(body, names);
}

} // namespace sotto
