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

// All in llama.cpp's tree, by name.
std::vector<std::filesystem::path> template_files();

// The same conversations for all templates: titles, and requests.
const Json& conversations();
Json tools();
// Requests whose answers are put in as messages under "answer": what a model would have said.
const Json& exchanges();

// What was rendered; with `marked`, what people wrote of control tokens is in brackets.
std::string text_of(const std::vector<sotto::llama::PromptPart>& parts, bool marked);
// The same with the current date, by any spelling that templates use, as {today}.
std::string without_date(std::string text);

} // namespace golden
