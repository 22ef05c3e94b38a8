// Parses an answer in the output format of its model into reasoning, content and tool calls.
#pragma once

#include "runtime/fence.hpp"

#include <chat.h>
#include <nlohmann/json_fwd.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace sotto::llama {

class AnswerParser {
public:
    struct How {
        bool tools = false;        // tools may be called
        bool reasoning = true;     // return reasoning separately from content
        bool continuation = false; // the answer continues text that the request prefilled
    };
    AnswerParser(const common_chat_params& params, const How& how);

    // Returns the deltas from the previous call's text to `text`, the whole output so far, as a JSON array.
    // Text that does not parse adds no deltas. With `last`, parses an incomplete answer as far as possible;
    // if no call has returned a delta, and the answer is malformed, returns the text as content.
    std::string deltas(std::string_view text, bool last);

private:
    bool may_be(const std::string& text) const;
    bool read(nlohmann::ordered_json& told, const std::string& text, bool begun);
    std::string fresh_id();
    void add(nlohmann::ordered_json& told, const common_chat_msg& message, const common_chat_msg_diff& diff);
    void name_calls(nlohmann::ordered_json& told, const common_chat_msg& message, std::size_t end);

    common_chat_parser_params how_;
    common_chat_msg told_;
    bool spoke_ = false;    // a delta was returned
    std::size_t named_ = 0; // number of tool calls whose names were returned
    std::vector<std::string> ids_;
    std::mt19937 random_{std::random_device{}()};
};

} // namespace sotto::llama
