// Converts a JSON schema to a grammar that constrains a model's answer.
#pragma once

#include "runtime/fence.hpp"
#include "runtime/json_parts.hpp"

#include <map>

namespace sotto::llama {

// Rules that mended_grammar() inserts, by name.
using SchemaRules = std::map<std::string, std::string>;

// A request's schema, rewritten so that llama.cpp's converter enforces all of it.
struct HeldSchema {
    Json schema;
    SchemaRules rules;
    std::string grammar; // grammar for the schema alone: corrected, and checked by check_grammar()
};

// Use of a schema.
enum class SchemaUse {
    Answer,
    Arguments, // arguments of a tool: an object whose members llama.cpp may generate one by one
};

// Rewrites `schema`. Every value that the result allows is allowed by `schema`. Of values that differ only in
// member order, spelling, or members without a schema, the result allows at least one. `path`: the schema's
// place in the request; errors name the path of the faulty part. Schemas for one grammar need distinct `tag`s
// of letters and digits. Throws Error: SOTTO_ERROR_ARGUMENT if the schema is malformed or allows nothing,
// SOTTO_ERROR_UNSUPPORTED if a grammar cannot enforce it.
HeldSchema held_schema(
    const Json& schema,
    const std::string& path,
    const std::string& tag = "",
    SchemaUse use = SchemaUse::Answer
);

// Returns `grammar`, which llama.cpp made of rewritten schemas, with `rules` inserted and the converter's
// errors corrected.
std::string mended_grammar(const std::string& grammar, const SchemaRules& rules);

} // namespace sotto::llama
