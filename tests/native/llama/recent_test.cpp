// The LRU cache.
#include "grammar/schema/constraints.hpp"
#include "runtime/recent.hpp"

#include <doctest/doctest.h>
#include <stdexcept>

using namespace sotto::llama;

namespace {

struct Text {
    std::string text;
    std::size_t bytes() const { return text.size(); }
};

// Counts the created values.
struct Maker {
    explicit Maker(std::size_t most) : recent(most) {}

    std::string get(const std::string& key, std::size_t size = 8) {
        const auto make = [&] {
            ++made;
            return Text{std::string(size, key[0])};
        };
        return recent.get(key, make)->text;
    }

    Recent<Text> recent;
    int made = 0;
};

Json format_of(const Json& schema) {
    return {{"response_format", {{"type", "json_schema"}, {"json_schema", {{"schema", schema}}}}}};
}

Json object_with(const char* member, int most) {
    return Json{
        {"type", "object"},
        {"properties", {{member, {{"type", "integer"}, {"minimum", 0}, {"maximum", most}}}}},
        {"required", {member}},
        {"additionalProperties", false},
    };
}

std::string refusal(const Constraints& constraints, const Json& body) {
    try {
        constraints.answer_schema(body);
        return "";
    } catch (const Error& error) {
        return error.what();
    }
}

} // namespace

TEST_CASE("a value is created once while it fits") {
    Maker maker(30); // room for three values of nine bytes
    CHECK(maker.get("a") == "aaaaaaaa");
    CHECK(maker.get("a") == "aaaaaaaa");
    CHECK(maker.made == 1);
    maker.get("b");
    maker.get("c");
    maker.get("a"); // makes "b" the least recently used one
    CHECK(maker.made == 3);
    maker.get("d");
    maker.get("a");
    maker.get("c");
    CHECK(maker.made == 4);
    CHECK(maker.get("b") == "bbbbbbbb");
    CHECK(maker.made == 5);
}

TEST_CASE("a value larger than the cache is created each time and evicts nothing") {
    Maker maker(30);
    maker.get("a");
    CHECK(maker.get("x", 30).size() == 30);
    CHECK(maker.get("x", 30).size() == 30);
    CHECK(maker.made == 3);
    maker.get("a");
    CHECK(maker.made == 3);
}

TEST_CASE("a value in use outlives its eviction") {
    Recent<Text> recent(9);
    const auto first = recent.get("a", [] { return Text{"first"}; });
    recent.get("b", [] { return Text{"another"}; });
    CHECK(first->text == "first");
    CHECK(recent.get("a", [] { return Text{"second"}; })->text == "second");
}

TEST_CASE("a failed creation is retried") {
    Recent<Text> recent(9);
    CHECK_THROWS_AS(recent.get("a", []() -> Text { throw std::runtime_error("no"); }), std::runtime_error);
    CHECK(recent.get("a", [] { return Text{"yes"}; })->text == "yes");
}

TEST_CASE("a repeated schema is not converted again, and different schemas have different grammars") {
    const Constraints constraints(nullptr);
    const auto body = format_of(object_with("gold", 50));
    const auto first = constraints.answer_schema(body);
    REQUIRE(first != nullptr);
    CHECK(constraints.answer_schema(body) == first);
    CHECK(constraints.answer_grammar(body) == first->grammar);
    for (const auto& other : {object_with("gold", 51), object_with("iron", 50)}) {
        const auto held = constraints.answer_schema(format_of(other));
        CHECK(held != first);
        CHECK(held->grammar == Constraints(nullptr).answer_schema(format_of(other))->grammar);
        CHECK(held->grammar != first->grammar);
    }
    CHECK(constraints.answer_schema(body) == first);
    CHECK(constraints.answer_schema(Json::object()) == nullptr);
}

TEST_CASE("tools with equal schemas have rules of their own") {
    const Constraints constraints(nullptr);
    const auto schema =
        Json::parse(R"({"type": "object", "properties": {"x": {"type": "number", "minimum": 1}}})");
    const auto answer = constraints.answer_schema(format_of(schema));
    const auto first = constraints.argument_schema(schema, 0);
    const auto second = constraints.argument_schema(schema, 1);
    CHECK(constraints.argument_schema(schema, 0) == first);
    CHECK(first != answer);
    CHECK(first->rules != second->rules);
    CHECK(first->schema != second->schema);
}

TEST_CASE("an invalid schema is refused each time, with its path") {
    const Constraints constraints(nullptr);
    const Json wrong = {{"type", "numbr"}};
    for (int i = 0; i < 2; ++i) {
        CHECK(
            refusal(constraints, format_of(wrong)).starts_with("invalid response_format.json_schema.schema")
        );
        CHECK(refusal(constraints, {{"json_schema", wrong}}).starts_with("invalid json_schema"));
        CHECK_THROWS_AS(constraints.answer_grammar({{"grammar", "root ::= root"}}), Error);
        CHECK(constraints.answer_grammar({{"grammar", "root ::= \"a\""}}) == "root ::= \"a\"");
    }
}
