// The half of the codec that reads.
#include "core/codec.hpp"

#include <string>

#include "base/error.hpp"
#include "core/codec_checks.hpp"

namespace sotto {
namespace {

constexpr const char* kModel = "the id of a loaded model";
constexpr std::size_t kMostStops = 16;
constexpr std::size_t kLongestStop = 1024;
constexpr std::int64_t kMostAnswers = 128;
constexpr std::int64_t kMostLogprobs = 20;

void require_text(const Fields& body, const char* key, bool may_be_empty) {
    const Json& text = body.require(key, "a string");
    if (!text.is_string() || (!may_be_empty && text.get_ref<const std::string&>().empty())) {
        body.refuse(key, text, may_be_empty ? "a string" : "a string that is not empty");
    }
}

void check_tokens(const Fields& body, const char* key, bool may_be_empty) {
    const Json& tokens = body.require(key, "an array of tokens");
    if (!tokens.is_array() || (tokens.empty() && !may_be_empty)) {
        body.refuse(key, tokens, "an array of tokens");
    }
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (!tokens[i].is_number_integer() || tokens[i] > INT32_MAX) {
            body.refuse(element(key, i).c_str(), tokens[i], "a token's number");
        }
    }
}

void check_prompt(const Fields& body) {
    if (const Json* prompt = body.find("prompt"); prompt != nullptr && prompt->is_array()) {
        check_tokens(body, "prompt", false);
        return;
    }
    const bool filled = body.find("suffix") != nullptr;
    require_text(body, "prompt", filled);
    if (filled) {
        require_text(body, "suffix", true);
    }
}

void check_infill(const Fields& body) {
    require_text(body, "input_prefix", true);
    require_text(body, "input_suffix", true);
    if (body.find("prompt") != nullptr) {
        require_text(body, "prompt", true);
    }
    const Json* extra = body.find("input_extra");
    if (extra == nullptr) {
        return;
    }
    if (!extra->is_array()) {
        body.refuse("input_extra", *extra, "an array of objects with \"filename\" and \"text\"");
    }
    for (std::size_t i = 0; i < extra->size(); ++i) {
        const auto one = object_at(*extra, i, "input_extra");
        require_text(one, "text", true);
        if (one.find("filename") != nullptr) {
            require_text(one, "filename", true);
        }
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

// A truth in chats, a count in text completions, and a count by another name in both.
bool read_logprobs(const Fields& body, bool chat) {
    const bool native = body.integer("n_probs", 0, kMostLogprobs).value_or(0) > 0;
    if (!chat) {
        const Json* told = body.find("logprobs");
        const bool off = told != nullptr && *told == false;
        return native || (!off && body.integer("logprobs", 0, kMostLogprobs).has_value());
    }
    const bool told = body.boolean("logprobs").value_or(false);
    if (body.integer("top_logprobs", 0, kMostLogprobs).has_value() && !told) {
        throw Error(SOTTO_ERROR_ARGUMENT, "top_logprobs is there; logprobs must be true then");
    }
    return told || native;
}

std::string read_echo(const Fields& body) {
    if (!body.boolean("echo").value_or(false)) {
        return {};
    }
    const Json* prompt = body.find("prompt");
    if (prompt == nullptr || !prompt->is_string() || body.find("logprobs") != nullptr) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED, "echo is true; that is for prompts that are strings, without logprobs"
        );
    }
    return prompt->get<std::string>();
}

OnBudget read_on_budget(const Fields& body) {
    const Json* told = body.find("on_budget");
    if (told == nullptr || *told == "wait") {
        return OnBudget::wait;
    }
    if (*told != "fail" && *told != "shrink") {
        body.refuse("on_budget", *told, R"("wait", "fail" or "shrink")");
    }
    return *told == "fail" ? OnBudget::fail : OnBudget::shrink;
}

std::string read_path(const Fields& body) {
    require_text(body, "path", false);
    return body.find("path")->get<std::string>();
}

void read_completion(sotto_op op, const Fields& body, Prompted& asked) {
    const bool chat = op == SOTTO_OP_CHAT;
    const bool in_session = !asked.session.id.empty();
    if (chat) {
        check_messages(body, in_session);
        check_tools(body);
        check_thinking(body);
    } else if (op == SOTTO_OP_COMPLETION) {
        check_prompt(body);
        asked.echo = read_echo(body);
    } else {
        check_infill(body);
    }
    check_sampling(body);
    asked.form = check_form(body);
    asked.answers = static_cast<std::uint32_t>(body.integer("n", 1, kMostAnswers).value_or(1));
    if (in_session && asked.answers > 1) {
        body.refuse("n", *body.find("n"), "1 in a session, which goes on in one way; fork it for others");
    }
    asked.max_tokens = read_max_tokens(body);
    asked.stops = read_stops(body);
    asked.logprobs = read_logprobs(body, chat);
    body.boolean("stream");
    asked.include_usage = read_include_usage(body);
}

bool may_be_in_session(sotto_op op) noexcept {
    return op == SOTTO_OP_CHAT || op == SOTTO_OP_APPLY_TEMPLATE || op == SOTTO_OP_SAVE_STATE;
}

bool is_completion(sotto_op op) noexcept {
    return op == SOTTO_OP_CHAT || op == SOTTO_OP_COMPLETION || op == SOTTO_OP_INFILL;
}

} // namespace

std::string read_model(const Fields& body, bool needed) {
    const Json* model = needed ? &body.require("model", kModel) : body.find("model");
    if (model == nullptr) {
        return {};
    }
    if (!model->is_string() || model->get_ref<const std::string&>().empty()) {
        body.refuse("model", *model, kModel);
    }
    return model->get<std::string>();
}

bool is_at_once(sotto_op op) noexcept {
    return op == SOTTO_OP_TOKENIZE || op == SOTTO_OP_DETOKENIZE || op == SOTTO_OP_APPLY_TEMPLATE ||
           op == SOTTO_OP_RESTORE_STATE;
}

Prompted read_request(sotto_op op, std::string_view text, const std::atomic<bool>* cancelled) {
    const Json object = parse_object(text, "the request", cancelled);
    const Fields body(object, "");
    Prompted asked;
    asked.unknown = check_names(op, object);
    if (may_be_in_session(op)) {
        asked.session = read_in_session(body, text, cancelled);
    } else if (const Json* session = body.find("session"); session != nullptr && is_completion(op)) {
        body.refuse("session", *session, "left out; chats go on with one, texts do not");
    }
    const bool in_session = !asked.session.id.empty();
    asked.model = read_model(body, !in_session);
    asked.on_budget = read_on_budget(body);
    switch (op) {
    case SOTTO_OP_TOKENIZE:
        require_text(body, "content", true);
        for (const char* flag : {"add_special", "parse_special", "with_pieces"}) {
            body.boolean(flag);
        }
        break;
    case SOTTO_OP_DETOKENIZE:
        check_tokens(body, "tokens", true);
        body.boolean("special");
        break;
    case SOTTO_OP_APPLY_TEMPLATE:
        check_messages(body, in_session);
        check_tools(body);
        check_thinking(body);
        check_form(body);
        break;
    case SOTTO_OP_SAVE_STATE:
        asked.path = read_path(body);
        asked.max_tokens = 1; // the step that works through the last of the prompt gives one
        if (in_session || body.find("messages") != nullptr) {
            check_messages(body, in_session);
            check_tools(body);
            check_thinking(body);
        } else {
            check_prompt(body);
        }
        break;
    case SOTTO_OP_RESTORE_STATE:
        asked.path = read_path(body);
        break;
    default:
        read_completion(op, body, asked);
    }
    return asked;
}

} // namespace sotto
