// A chat template of llama.cpp's tree, with a vocabulary of its own markers.
#pragma once

#include "chat/chat.hpp"
#include "golden_vocabulary.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace golden {

using Json = nlohmann::ordered_json;

struct Template {
    explicit Template(const std::filesystem::path& file);

    std::string name;
    std::string source;
    Vocabulary vocabulary;
    sotto::llama::Constraints constraints;
    sotto::llama::Chat chat;
};

// All templates in llama.cpp's tree, by name.
std::vector<std::filesystem::path> template_files();

// The conversations to render with all templates, as titles and requests.
const Json& conversations();
Json tools();
// Requests with the model's answer as a message under "answer".
const Json& exchanges();

// Returns the rendered text; with `marked`, special-token spellings of user text are in brackets.
std::string text_of(const std::vector<sotto::llama::PromptPart>& parts, bool marked);
// Replaces the current date, in any format that templates use, by {today}.
std::string without_date(std::string text);

} // namespace golden
