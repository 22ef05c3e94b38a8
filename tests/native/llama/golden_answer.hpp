// Derives a model's output from its template, and parses it.
#pragma once

#include "golden_template.hpp"

#include <functional>

namespace golden {

// An answer as its model would generate it.
struct Generated {
    std::vector<llama_token> tokens;   // up to the end of the turn
    std::string text;                  // input of the parser
    sotto::llama::ChatPrompt prompt;   // prompt before the answer
    std::vector<std::string> left_out; // parts of the message that the template does not render
};

// Extracts an exchange's answer from the template's rendering of it as history.
Generated generated(const Template& model, const Json& exchange, bool required);

// Parses the answer in pieces and returns the resulting message; `next` returns the size of the next piece in
// bytes.
Json told(
    sotto::llama::AnswerParser& parser,
    const std::string& text,
    const std::function<std::size_t(std::string_view rest)>& next
);

// The expected message: the original answer without the parts that history omits.
Json expected(const Json& exchange, const std::vector<std::string>& left_out);

} // namespace golden
