// What a model would generate, out of its template, and what the parser makes of it.
#pragma once

#include "golden_template.hpp"

#include <functional>

namespace golden {

// An answer as its model would write it.
struct Generated {
    std::vector<llama_token> tokens;   // up to the end of the turn
    std::string text;                  // what of it the parser is given
    sotto::llama::ChatPrompt prompt;   // before it
    std::vector<std::string> left_out; // of the message that was put in
};

// Takes an exchange's answer out of what the template renders of it as history.
Generated generated(const Template& model, const Json& exchange, bool required);

// A message of what was told, in pieces that `next` cuts: it says how many bytes of the text come next.
Json told(
    sotto::llama::AnswerParser& parser,
    const std::string& text,
    const std::function<std::size_t(std::string_view rest)>& next
);

// What should be told: the answer that was put in, without what history leaves out.
Json expected(const Json& exchange, const std::vector<std::string>& left_out);

} // namespace golden
