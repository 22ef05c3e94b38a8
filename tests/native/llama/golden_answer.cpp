// Derives a model's output from its template, and parses it.
#include "golden_answer.hpp"

#include <algorithm>

namespace golden {
namespace {

using Tokens = std::vector<llama_token>;

Json message_of(const Json& answer) {
    Json message = {{"role", "assistant"}, {"content", answer.value("content", "")}};
    if (answer.contains("reasoning_content")) {
        message["reasoning_content"] = answer["reasoning_content"];
    }
    int count = 0;
    for (const auto& call : answer.value("tool_calls", Json::array())) {
        message["tool_calls"].push_back(
            {{"id", "00000000" + std::to_string(++count)},
             {"type", "function"},
             {"function", {{"name", call["name"]}, {"arguments", call["arguments"].dump()}}}}
        );
    }
    return message;
}

Json request_of(const Json& exchange, bool required) {
    Json request = {{"messages", {{{"role", "user"}, {"content", "Who goes there, and does it rain?"}}}}};
    if (exchange["answer"].contains("reasoning_content")) {
        request["chat_template_kwargs"] = {{"enable_thinking", true}, {"thinking", true}};
    }
    if (exchange["answer"].contains("tool_calls")) {
        request["tools"] = tools();
        request["tool_choice"] = required ? "required" : "auto";
        request["parallel_tool_calls"] = exchange["answer"]["tool_calls"].size() > 1;
    }
    return request;
}

// Returns the input of the answer parser: text, and the special tokens that the format preserves.
std::string
shown_text(const Tokens& tokens, const sotto::llama::Tokenizer& tokenizer, const common_chat_params& how) {
    std::string text;
    std::string piece;
    for (const auto token : tokens) {
        tokenizer.text_of(token, piece);
        const auto spelling = tokenizer.piece_of(token);
        const auto& kept = how.preserved_tokens;
        text += std::find(kept.begin(), kept.end(), spelling) != kept.end() ? spelling : piece;
    }
    return text;
}

// Length of the common prefix of `prompt` and `tokens`.
std::size_t common(const Tokens& prompt, const Tokens& tokens) {
    const auto size = static_cast<std::ptrdiff_t>(std::min(prompt.size(), tokens.size()));
    return static_cast<std::size_t>(
        std::mismatch(prompt.begin(), prompt.begin() + size, tokens.begin()).first - prompt.begin()
    );
}

std::string trimmed(const std::string& text) {
    const auto begin = text.find_first_not_of(" \n");
    return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(" \n") + 1 - begin);
}

bool drop_front(std::string& text, const std::string& what) {
    const auto begin = text.find_first_not_of(" \n");
    const auto tag = trimmed(what);
    const bool found =
        !tag.empty() && begin != std::string::npos && text.compare(begin, tag.size(), tag) == 0;
    if (found) {
        text.erase(0, begin + tag.size());
    }
    return found;
}

// Adds the reasoning, which a template may omit from history although models generate it.
std::string with_thought(
    const sotto::llama::ChatPrompt& prompt, const std::string& thought, const std::string& rendered
) {
    const auto& how = prompt.how;
    const auto asked = trimmed(text_of(prompt.parts, false));
    const auto end = how.thinking_end_tags.empty() ? "" : how.thinking_end_tags.front();
    const bool thinks = how.supports_thinking && !trimmed(end).empty() && !asked.ends_with(trimmed(end));
    // the prompt begins the reasoning
    const bool begun = thinks && asked.ends_with(trimmed(how.thinking_start_tag));
    const auto shown = thought.empty() ? trimmed(end) : thought;
    if (!thinks || (thought.empty() && !begun) || rendered.find(shown) != std::string::npos) {
        return rendered;
    }
    const auto& start = how.thinking_start_tag;
    auto rest = rendered;
    const bool empty = begun ? drop_front(rest, end) : drop_front(rest, start) && drop_front(rest, end);
    return (begun ? "" : start) + thought + end + (empty ? rest : rendered);
}

// Returns the parts of an answer that its template does not render.
std::vector<std::string> left_out(const Json& answer, const std::string& text) {
    std::vector<std::string> keys;
    for (const char* key : {"reasoning_content", "content"}) {
        if (answer.contains(key) && text.find(answer[key].get<std::string>()) == std::string::npos) {
            keys.emplace_back(key);
        }
    }
    std::size_t at = 0;
    for (const auto& call : answer.value("tool_calls", Json::array())) {
        at = text.find(call["name"].get<std::string>(), at);
        if (at == std::string::npos) {
            keys.push_back(call["name"]);
        }
    }
    return keys;
}

} // namespace

Generated generated(const Template& model, const Json& exchange, bool required) {
    const auto& tokenizer = model.vocabulary.tokenizer();
    auto request = request_of(exchange, required);
    Generated made;
    made.prompt = model.chat.prompt(request);
    request["messages"].push_back(message_of(exchange["answer"]));
    request["add_generation_prompt"] = false;
    const auto after = tokenizer.cut(model.chat.prompt(request).parts);
    const auto before = tokenizer.cut(made.prompt.parts);
    const auto begin = common(before, after);
    const auto end =
        std::find_if(after.begin() + static_cast<std::ptrdiff_t>(begin), after.end(), [&](auto token) {
            return tokenizer.ends_answer(token);
        });
    made.tokens.assign(after.begin() + static_cast<std::ptrdiff_t>(begin), end);
    const auto& how = made.prompt.how;
    const auto thought = exchange["answer"].value("reasoning_content", "");
    const auto rendered = shown_text(made.tokens, tokenizer, how);
    if (const auto whole = with_thought(made.prompt, thought, rendered); whole != rendered) {
        made.tokens = tokenizer.cut(whole, true);
    }
    made.text = shown_text(made.tokens, tokenizer, how);
    made.left_out = left_out(exchange["answer"], made.text);
    return made;
}

Json expected(const Json& exchange, const std::vector<std::string>& left_out) {
    auto message = exchange["answer"];
    for (const auto& key : left_out) {
        message.erase(key);
    }
    auto calls = Json::array();
    for (const auto& call : message.value("tool_calls", Json::array())) {
        if (std::find(left_out.begin(), left_out.end(), call["name"]) == left_out.end()) {
            calls.push_back(call);
        }
    }
    message.erase("tool_calls");
    if (!calls.empty()) {
        message["tool_calls"] = calls;
    }
    return message;
}

namespace {

void fold(Json& message, const Json& delta) {
    for (const char* key : {"reasoning_content", "content"}) {
        if (delta.contains(key)) {
            message[key] = message.value(key, "") + delta[key].get<std::string>();
        }
    }
    for (const auto& piece : delta.value("tool_calls", Json::array())) {
        auto& calls = message["tool_calls"];
        const auto index = piece["index"].get<std::size_t>();
        if (index == calls.size()) { // first delta of the call
            calls.push_back({{"name", piece["function"]["name"]}, {"arguments", ""}});
        }
        auto& arguments = calls.at(index)["arguments"];
        arguments = arguments.get<std::string>() + piece["function"]["arguments"].get<std::string>();
    }
}

} // namespace

Json told(
    sotto::llama::AnswerParser& parser,
    const std::string& text,
    const std::function<std::size_t(std::string_view rest)>& next
) {
    auto message = Json::object();
    for (std::size_t at = 0; at < text.size() || text.empty();) {
        at += next(std::string_view(text).substr(at));
        const bool last = at >= text.size();
        for (const auto& delta : Json::parse(parser.deltas(std::string_view(text).substr(0, at), last))) {
            fold(message, delta);
        }
        if (last) {
            break;
        }
    }
    for (const char* key : {"reasoning_content", "content"}) {
        if (message.contains(key)) {
            message[key] = trimmed(message[key]);
            if (message[key].empty() || message[key] == "") {
                message.erase(key);
            }
        }
    }
    for (auto& call : message.contains("tool_calls") ? message["tool_calls"] : message) {
        if (call.is_object()) {
            auto arguments = Json::parse(call["arguments"].get<std::string>(), nullptr, false);
            call["arguments"] = arguments.is_discarded() ? call["arguments"] : std::move(arguments);
        }
    }
    return message;
}

} // namespace golden
