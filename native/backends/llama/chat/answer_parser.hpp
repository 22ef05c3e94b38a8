// Reads an answer in the form its model was taught: what it thinks, what it says, which tools it calls.
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
        bool tools = false;        // whether tools may be called
        bool reasoning = true;     // whether what it thinks is told apart
        bool continuation = false; // the answer goes on with what the request began
    };
    AnswerParser(const common_chat_params& params, const How& how);

    // What `text`, all that was generated so far, adds to what was read before: a JSON array of deltas.
    // Text that does not have the form adds nothing. Of the last, what can be read of it is what there is;
    // where that is nothing at all, it is told as content.
    std::string deltas(std::string_view text, bool last);

private:
    bool may_be(const std::string& text) const;
    bool read(nlohmann::ordered_json& told, const std::string& text, bool begun);
    std::string fresh_id();
    void add(nlohmann::ordered_json& told, const common_chat_msg& message, const common_chat_msg_diff& diff);
    void name_calls(nlohmann::ordered_json& told, const common_chat_msg& message, std::size_t end);

    common_chat_parser_params how_;
    common_chat_msg told_;
    bool spoke_ = false;    // whether anything was told
    std::size_t named_ = 0; // calls whose names were told
    std::vector<std::string> ids_;
    std::mt19937 random_{std::random_device{}()};
};

} // namespace sotto::llama
