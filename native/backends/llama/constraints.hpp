// What an answer is held to: a JSON schema, a grammar, or nothing.
#pragma once

#include "schema.hpp"

#include <nlohmann/json.hpp>
#include <string>

struct llama_vocab;

namespace sotto::llama {

// The schema that "response_format" or "json_schema" of a request asks for; null if none does. Everything
// here throws Error that names the place in the request.
HeldSchema answer_schema(const nlohmann::ordered_json& body);

// The schema of the arguments of tool `index`, for a grammar that holds those of all tools.
HeldSchema argument_schema(const nlohmann::ordered_json& schema, std::size_t index);

// The GBNF that "grammar" or the schema of a request makes, where no chat template has a say; or empty.
std::string answer_grammar(const nlohmann::ordered_json& body, const llama_vocab* vocab);

} // namespace sotto::llama
