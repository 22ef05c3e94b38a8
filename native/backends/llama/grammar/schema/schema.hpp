// Turns a JSON schema into a grammar that a model's answer then obeys.
#pragma once

#include "runtime/fence.hpp"
#include "runtime/json_parts.hpp"

#include <map>

namespace sotto::llama {

// Rules that mended_grammar() puts in, by name.
using SchemaRules = std::map<std::string, std::string>;

// A schema of a request's, written anew so that llama.cpp's conversion holds an answer to it.
struct HeldSchema {
    Json schema;
    SchemaRules rules;
    std::string grammar; // of the schema alone, mended, and checked as check_grammar() does
};

// What a schema is for.
enum class SchemaUse {
    Answer,
    Arguments, // of a tool: an object whose members llama.cpp may ask for one by one
};

// Each value that the result allows is one that `schema` allows; of values that differ in the order of
// their members, in spelling, or in members that no schema names, it has one or some. `path` is where the
// schema stands in the request, and every error names the place inside it. Schemas that are to be in one
// grammar need a `tag` each, of letters and digits. Throws Error: SOTTO_ERROR_ARGUMENT where the schema is
// wrong or allows nothing, SOTTO_ERROR_UNSUPPORTED where it says what no grammar can hold an answer to.
HeldSchema held_schema(
    const Json& schema,
    const std::string& path,
    const std::string& tag = "",
    SchemaUse use = SchemaUse::Answer
);

// A grammar that llama.cpp made of held schemas, with what it gets wrong put right.
std::string mended_grammar(const std::string& grammar, const SchemaRules& rules);

} // namespace sotto::llama
