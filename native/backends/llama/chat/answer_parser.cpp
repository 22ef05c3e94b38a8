// Parses an answer in the output format of its model.
#include "chat/answer_parser.hpp"

#include "runtime/json_parts.hpp"

namespace sotto::llama {
namespace {

Json call_delta(std::size_t index, const common_chat_tool_call* whole, const std::string& arguments) {
    Json call = {{"index", index}};
    Json function = Json::object();
    if (whole != nullptr) { // only in the first delta of a call
        call["id"] = whole->id;
        call["type"] = "function";
        function["name"] = whole->name;
    }
    function["arguments"] = arguments;
    call["function"] = std::move(function);
    return {{"tool_calls", Json::array({std::move(call)})}};
}

} // namespace

AnswerParser::AnswerParser(const common_chat_params& params, const How& how) : how_(params) {
    how_.reasoning_format = how.reasoning ? COMMON_REASONING_FORMAT_AUTO : COMMON_REASONING_FORMAT_NONE;
    how_.parse_tool_calls = how.tools;
    how_.is_continuation = how.continuation;
    if (!params.parser.empty()) {
        how_.parser.load(params.parser);
    }
    if (how.continuation) { // deltas() does not return text that the request prefilled
        told_ = common_chat_parse("", true, how_);
    }
}

std::string AnswerParser::fresh_id() {
    // Nine letters and digits: some templates accept no other length.
    constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    std::uniform_int_distribution<std::size_t> any(0, kLetters.size() - 1);
    std::string id;
    while (id.size() < 9) {
        id += kLetters[any(random_)];
    }
    return id;
}

// Appends `diff`, the change from the previous parse to `message`, as deltas. Holds back a tool's name until
// its arguments begin, because the name may still grow.
void AnswerParser::add(Json& json, const common_chat_msg& message, const common_chat_msg_diff& diff) {
    if (!diff.reasoning_content_delta.empty()) {
        json.push_back({{"reasoning_content", diff.reasoning_content_delta}});
    }
    if (!diff.content_delta.empty()) {
        json.push_back({{"content", diff.content_delta}});
    }
    const auto index = diff.tool_call_index;
    if (index == std::string::npos || diff.tool_call_delta.arguments.empty()) {
        return;
    }
    name_calls(json, message, index);
    const bool fresh = index == named_;
    named_ += fresh;
    const auto* whole = fresh ? &message.tool_calls[index] : nullptr;
    json.push_back(call_delta(index, whole, diff.tool_call_delta.arguments));
}

// Appends a delta for each tool call before `end` whose name was not returned yet. These calls have no
// arguments.
void AnswerParser::name_calls(Json& json, const common_chat_msg& message, std::size_t end) {
    for (; named_ < end; ++named_) {
        json.push_back(call_delta(named_, &message.tool_calls[named_], ""));
    }
}

// Returns true if `text` may be the start of a well-formed answer.
bool AnswerParser::may_be(const std::string& text) const {
    common_peg_parse_context context(how_.generation_prompt + text, COMMON_PEG_PARSE_FLAG_LENIENT);
    return how_.parser.empty() || !how_.parser.parse(context).fail();
}

// Appends the deltas of `text`. Returns false if `text` does not parse. `begun`: more text may follow.
bool AnswerParser::read(Json& json, const std::string& text, bool begun) {
    try {
        auto message = common_chat_parse(text, begun, how_);
        if (!message.empty()) {
            message.set_tool_call_ids(ids_, [this] { return fresh_id(); });
            for (const auto& diff : common_chat_msg_diff::compute_diffs(told_, message)) {
                add(json, message, diff);
            }
            told_ = std::move(message);
        }
        return true;
    } catch (const std::exception& error) {
        throw_if_out_of_memory(error);
        return false;
    }
}

std::string AnswerParser::deltas(std::string_view text, bool last) {
    auto json = Json::array();
    const std::string whole(text);
    if (!read(json, whole, !last) && last) { // retries without trailing blanks, which some formats forbid
        const bool formed = read(json, whole.substr(0, whole.find_last_not_of(" \n") + 1), false);
        const bool begun = !formed && read(json, whole, true) && may_be(whole);
        if (json.empty() && !spoke_ && !formed && !begun) { // raw text is better than no answer
            json.push_back({{"content", whole}});
        }
    }
    if (last) {
        name_calls(json, told_, told_.tool_calls.size());
    }
    spoke_ = spoke_ || !json.empty();
    return text_of(json);
}

} // namespace sotto::llama
