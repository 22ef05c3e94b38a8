// The half of the codec that reads.
#include "core/codec.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "base/error.hpp"
#include "text/json_reader.hpp"

namespace sotto {
namespace {

constexpr std::size_t kMostStops = 16;
constexpr std::size_t kLongestStop = 1024;
constexpr std::array<std::string_view, 5> kRoles = {"system", "developer", "user", "assistant", "tool"};
constexpr const char* kContent = "a string or an array of text parts";

std::string element(const std::string& list, std::size_t i) {
    return list + "[" + std::to_string(i) + "]";
}

void check_content(const Fields& message) {
    const Json& content = message.require("content", kContent);
    if (content.is_string()) {
        return;
    }
    if (!content.is_array() || content.empty()) {
        message.refuse("content", content, kContent);
    }
    for (std::size_t i = 0; i < content.size(); ++i) {
        const auto path = element(message.path("content"), i);
        if (!content[i].is_object()) {
            throw Error(
                SOTTO_ERROR_ARGUMENT, path + " is " + excerpt(content[i]) + "; it must be a JSON object"
            );
        }
        const Fields part(content[i], path);
        if (const Json& type = part.require("type", "\"text\""); type != "text") {
            throw Error(
                SOTTO_ERROR_UNSUPPORTED, path + ".type is " + excerpt(type) + "; only \"text\" is read"
            );
        }
        if (const Json& text = part.require("text", "a string"); !text.is_string()) {
            part.refuse("text", text, "a string");
        }
    }
}

void check_messages(const Fields& body) {
    const Json& messages = body.require("messages", "an array of messages");
    if (!messages.is_array() || messages.empty()) {
        body.refuse("messages", messages, "an array with at least one message");
    }
    for (std::size_t i = 0; i < messages.size(); ++i) {
        const auto path = element("messages", i);
        if (!messages[i].is_object()) {
            throw Error(
                SOTTO_ERROR_ARGUMENT, path + " is " + excerpt(messages[i]) + "; it must be a JSON object"
            );
        }
        const Fields message(messages[i], path);
        const Json& role = message.require("role", "system, developer, user, assistant or tool");
        if (!role.is_string() ||
            std::find(kRoles.begin(), kRoles.end(), role.get_ref<const std::string&>()) == kRoles.end()) {
            message.refuse("role", role, "system, developer, user, assistant or tool");
        }
        check_content(message);
    }
}

void check_prompt(const Fields& body) {
    const Json& prompt = body.require("prompt", "a string");
    if (!prompt.is_string() || prompt.get_ref<const std::string&>().empty()) {
        body.refuse("prompt", prompt, "a string that is not empty");
    }
}

std::vector<std::string> read_stops(const Fields& body) {
    const Json* stop = body.find("stop");
    if (stop == nullptr) {
        return {};
    }
    const Json list = stop->is_array() ? *stop : Json::array({*stop});
    if (list.size() > kMostStops) {
        body.refuse("stop", *stop, "at most " + std::to_string(kMostStops) + " strings");
    }
    std::vector<std::string> stops;
    for (const auto& one : list) {
        const bool fits = one.is_string() && !one.get_ref<const std::string&>().empty() &&
                          one.get_ref<const std::string&>().size() <= kLongestStop;
        if (!fits) {
            body.refuse("stop", one, "strings of 1 to " + std::to_string(kLongestStop) + " bytes");
        }
        stops.push_back(one.get<std::string>());
    }
    return stops;
}

// Fields whose effect a caller would miss if they were passed over in silence.
void refuse_unsupported(const Fields& body) {
    const auto refuse = [&](const char* key) {
        throw Error(SOTTO_ERROR_UNSUPPORTED, std::string(key) + " is not supported yet; leave it out");
    };
    if (body.integer("n", 1, 128).value_or(1) != 1) {
        refuse("n");
    }
    if (const Json* format = body.find("response_format");
        format != nullptr && *format != Json{{"type", "text"}}) {
        refuse("response_format");
    }
    if (const Json* tools = body.find("tools"); tools != nullptr && !tools->empty()) {
        refuse("tools");
    }
    if (const Json* logprobs = body.find("logprobs"); logprobs != nullptr && *logprobs != false) {
        refuse("logprobs");
    }
    for (const char* key : {"grammar", "json_schema", "logit_bias", "suffix", "echo"}) {
        const Json* value = body.find(key);
        if (value != nullptr && *value != false && !(value->is_structured() && value->empty())) {
            refuse(key);
        }
    }
}

void check_sampling(const Fields& body) {
    body.number("temperature", 0, 100);
    body.number("top_p", 0, 1);
    body.number("min_p", 0, 1);
    body.integer("top_k", 0, INT32_MAX);
    body.integer("seed", -1, UINT32_MAX);
}

std::uint32_t read_max_tokens(const Fields& body) {
    const auto newer = body.integer("max_completion_tokens", 1, INT32_MAX);
    const auto older = body.integer("max_tokens", 1, INT32_MAX);
    return static_cast<std::uint32_t>(newer.value_or(older.value_or(UINT32_MAX)));
}

bool read_include_usage(const Fields& body) {
    const Json* options = body.find("stream_options");
    if (options == nullptr) {
        return false;
    }
    if (!options->is_object()) {
        body.refuse("stream_options", *options, "a JSON object");
    }
    return Fields(*options, "stream_options").boolean("include_usage").value_or(false);
}

} // namespace

Prompted read_request(sotto_op op, std::string_view text) {
    const Json object = parse_object(text, "the request");
    const Fields body(object, "");
    Prompted asked;
    const Json& model = body.require("model", "the id of a loaded model");
    if (!model.is_string() || model.get_ref<const std::string&>().empty()) {
        body.refuse("model", model, "the id of a loaded model");
    }
    asked.model = model.get<std::string>();
    if (op == SOTTO_OP_CHAT) {
        check_messages(body);
    } else {
        check_prompt(body);
    }
    check_sampling(body);
    asked.max_tokens = read_max_tokens(body);
    asked.stops = read_stops(body);
    body.boolean("stream");
    asked.include_usage = read_include_usage(body);
    refuse_unsupported(body);
    return asked;
}

} // namespace sotto
