// What an answer is held to.
#include "constraints.hpp"

#include "grammar.hpp"

namespace sotto::llama {
namespace {

using Json = nlohmann::ordered_json;

struct Asked {
    Json schema; // null: none
    std::string path;
};

const Json* find(const Json& body, const char* key) {
    const auto found = body.find(key);
    return found == body.end() || found->is_null() ? nullptr : &*found;
}

Asked asked_schema(const Json& body) {
    if (const auto* schema = find(body, "json_schema")) {
        return {*schema, "json_schema"};
    }
    const auto* format = find(body, "response_format");
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

} // namespace

HeldSchema answer_schema(const Json& body) {
    const auto [schema, path] = asked_schema(body);
    if (schema.is_null()) {
        return {};
    }
    grammar_of_schema(schema, path); // for its bounds: the template makes a grammar of its own around it
    return held_schema(schema, path);
}

HeldSchema argument_schema(const Json& schema, std::size_t index) {
    const auto path = "tools[" + std::to_string(index) + "].function.parameters";
    grammar_of_schema(schema, path);
    return held_schema(schema, path, "t" + std::to_string(index) + "x", SchemaUse::Arguments);
}

std::string answer_grammar(const Json& body, const llama_vocab* vocab) {
    if (const auto* grammar = find(body, "grammar")) {
        check_grammar(grammar->get<std::string>(), "grammar", vocab);
        return grammar->get<std::string>();
    }
    const auto [schema, path] = asked_schema(body);
    return schema.is_null() ? "" : grammar_of_schema(schema, path);
}

} // namespace sotto::llama
