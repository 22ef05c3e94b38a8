// Renders a conversation the way its model was taught to read one.
#pragma once

#include "fence.hpp"

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace sotto::llama {

// A stretch of a prompt. What people wrote must never be taken for the template's own control tokens.
struct PromptPart {
    std::string text;
    bool from_template = true;
};

class ChatTemplate {
public:
    // `source` is Jinja. Throws std::exception where it does not parse.
    ChatTemplate(const std::string& source, std::string bos, std::string eos);
    ~ChatTemplate();

    // Renders a list of messages, with the beginning of an answer after them.
    // Throws Error(SOTTO_ERROR_ARGUMENT) where the template can make nothing of them.
    std::vector<PromptPart> render(const nlohmann::json& messages) const;

private:
    struct Program;
    std::unique_ptr<Program> program_;
    std::string bos_;
    std::string eos_;
};

} // namespace sotto::llama
