// Constraints on an answer's format: a JSON schema, a grammar, or none.
#pragma once

#include "grammar/schema/schema.hpp"
#include "runtime/recent.hpp"

#include <memory>
#include <string>

struct llama_vocab;

namespace sotto::llama {

struct Constraint {
    std::string schema;  // input of llama.cpp's converter; empty: the host wrote the grammar
    SchemaRules rules;   // rules that mended_grammar() inserts
    std::string grammar; // complete grammar for an answer with this constraint only

    std::size_t bytes() const;
};

// Creates and caches constraints: converting a large schema takes 0.1 s. Any thread. All functions throw
// Error if a constraint is invalid; the error names the place in the request.
class Constraints {
public:
    explicit Constraints(const llama_vocab* vocab);

    // Returns the constraint for "response_format" or "json_schema" of a request; nullptr if the request has
    // neither.
    std::shared_ptr<const Constraint> answer_schema(const Json& body) const;

    // Returns the constraint for the arguments of tool `index`, tagged so that one grammar can contain all
    // tools.
    std::shared_ptr<const Constraint> argument_schema(const Json& schema, std::size_t index) const;

    // Returns the GBNF grammar for "grammar" or the schema of a request without a chat template; may be
    // empty.
    std::string answer_grammar(const Json& body) const;

private:
    const llama_vocab* vocab_;
    mutable Recent<Constraint> made_;
};

} // namespace sotto::llama
