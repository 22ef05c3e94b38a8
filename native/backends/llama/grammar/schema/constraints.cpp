// Creates and caches constraints on an answer's format.
#include "grammar/schema/constraints.hpp"

#include "grammar/grammar.hpp"
#include "grammar/lark.hpp"
#include "grammar/regex.hpp"
#include "request/fields.hpp"

namespace sotto::llama {
namespace {

constexpr std::size_t kMaxKept = 4 << 20; // bytes of cached constraints

struct Asked {
    Json schema; // null: no schema
    std::string path;
};

Asked asked_schema(const Json& body) {
    if (const auto* schema = find(body, field::json_schema)) {
        return {*schema, "json_schema"};
    }
    const auto* format = find(body, field::response_format);
    if (format == nullptr || format->at("type") == "text") {
        return {nullptr, ""};
    }
    if (format->at("type") == "json_schema") {
        return {format->at("json_schema").at("schema"), "response_format.json_schema.schema"};
    }
    if (const auto* schema = find(*format, "schema")) {
        return {*schema, "response_format.schema"};
    }
    return {{{"type", "object"}, {"additionalProperties", true}}, "response_format"};
}

Constraint constraint_of(HeldSchema held) {
    return {text_of(held.schema), std::move(held.rules), std::move(held.grammar)};
}

} // namespace

std::size_t Constraint::bytes() const {
    std::size_t bytes = sizeof *this + schema.size() + grammar.size();
    for (const auto& [name, rule] : rules) {
        bytes += sizeof name + name.size() + sizeof rule + rule.size();
    }
    return bytes;
}

Constraints::Constraints(const llama_vocab* vocab) : vocab_(vocab), made_(kMaxKept) {}

// The cache key is the schema's text and tag: the result depends on nothing else.
std::shared_ptr<const Constraint> Constraints::answer_schema(const Json& body) const {
    const auto [schema, path] = asked_schema(body);
    if (schema.is_null()) {
        return nullptr;
    }
    return made_.get("answer " + text_of(schema), [&] { return constraint_of(held_schema(schema, path)); });
}

std::shared_ptr<const Constraint> Constraints::argument_schema(const Json& schema, std::size_t index) const {
    const auto tag = "t" + std::to_string(index) + "x";
    return made_.get(tag + " " + text_of(schema), [&] {
        const auto path = "tools[" + std::to_string(index) + "].function.parameters";
        return constraint_of(held_schema(schema, path, tag, SchemaUse::Arguments));
    });
}

std::string Constraints::answer_grammar(const Json& body) const {
    if (const auto* grammar = find(body, field::grammar)) {
        const auto& text = grammar->get_ref<const std::string&>();
        const auto* type = find(body, field::grammar_type);
        const auto kind = type == nullptr ? "gbnf" : type->get<std::string>();
        const auto checked = [&] {
            auto gbnf = kind == "regex"  ? regex_grammar(text, "grammar")
                        : kind == "lark" ? lark_grammar(text, "grammar")
                                         : text;
            check_grammar(gbnf, kind == "lark" ? "grammar (translated to GBNF)" : "grammar", vocab_);
            return Constraint{"", {}, std::move(gbnf)};
        };
        return made_.get(kind + " " + text, checked)->grammar;
    }
    const auto held = answer_schema(body);
    return held ? held->grammar : "";
}

} // namespace sotto::llama
