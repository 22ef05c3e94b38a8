// What an answer is held to: a JSON schema, a grammar, or nothing.
#pragma once

#include "grammar/schema/schema.hpp"
#include "runtime/recent.hpp"

#include <memory>
#include <string>

struct llama_vocab;

namespace sotto::llama {

struct Constraint {
    std::string schema;  // as llama.cpp's conversion wants it; empty: the host wrote the grammar
    SchemaRules rules;   // that mended_grammar() puts in
    std::string grammar; // that holds an answer to this alone

    std::size_t bytes() const;
};

// Makes them, and keeps them: a large schema takes a tenth of a second. Any thread. Everything throws Error
// that names the place in the request.
class Constraints {
public:
    explicit Constraints(const llama_vocab* vocab);

    // The schema that "response_format" or "json_schema" of a request asks for; nullptr if none does.
    std::shared_ptr<const Constraint> answer_schema(const Json& body) const;

    // The schema of the arguments of tool `index`, for a grammar that holds those of all tools.
    std::shared_ptr<const Constraint> argument_schema(const Json& schema, std::size_t index) const;

    // The GBNF that "grammar" or the schema of a request makes, where no chat template has a say; or empty.
    std::string answer_grammar(const Json& body) const;

private:
    const llama_vocab* vocab_;
    mutable Recent<Constraint> made_;
};

} // namespace sotto::llama
