// JSON schemas: refused ones with their paths, and the answers that a schema's grammar accepts.
#include "grammar/schema/schema.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <llama-grammar.h>
#include <memory>

using namespace sotto::llama;
using Json = nlohmann::ordered_json;

namespace {

constexpr const char* kPath = "response_format.json_schema.schema";

std::string grammar_of(const std::string& schema) {
    return held_schema(Json::parse(schema), kPath).grammar;
}

// Returns the error after the schema's path: ".type 'x': expected ..." or ": REASON".
std::string refusal(const std::string& schema, sotto_status status) {
    try {
        grammar_of(schema);
    } catch (const Error& error) {
        std::string why = error.what();
        CHECK_MESSAGE(error.status() == status, why);
        const bool formed = why.starts_with("invalid ");
        CHECK_MESSAGE((formed || status == SOTTO_ERROR_UNSUPPORTED), why);
        why.erase(0, formed ? 8 : 0);
        CHECK_MESSAGE(why.starts_with(kPath), why);
        return why.substr(std::string(kPath).size());
    }
    FAIL_CHECK(schema << " is not refused");
    return "";
}

std::string wrong(const std::string& schema) {
    return refusal(schema, SOTTO_ERROR_ARGUMENT);
}

// Returns the error without its hint.
std::string beyond(const std::string& schema) {
    const auto why = refusal(schema, SOTTO_ERROR_UNSUPPORTED);
    return why.substr(0, why.find(';'));
}

class Answers {
public:
    explicit Answers(const std::string& schema) {
        const auto grammar = grammar_of(schema);
        grammar_.reset(
            llama_grammar_init_impl(nullptr, grammar.c_str(), "root", false, nullptr, 0, nullptr, 0)
        );
        REQUIRE_MESSAGE(grammar_ != nullptr, grammar);
        start_ = llama_grammar_get_stacks(grammar_.get());
    }

    bool take(const std::string& answer) {
        auto& stacks = llama_grammar_get_stacks(grammar_.get());
        stacks = start_;
        try {
            llama_grammar_accept_str(*grammar_, answer);
        } catch (const std::exception&) {
            return false; // no parse is left
        }
        return std::any_of(stacks.begin(), stacks.end(), [](const auto& stack) { return stack.empty(); });
    }

private:
    struct Free {
        void operator()(llama_grammar* grammar) const { llama_grammar_free_impl(grammar); }
    };
    std::unique_ptr<llama_grammar, Free> grammar_;
    llama_grammar_stacks start_;
};

void check(
    const std::string& schema, std::initializer_list<const char*> good, std::initializer_list<const char*> bad
) {
    CAPTURE(schema);
    Answers answers(schema);
    for (const std::string answer : good) {
        CHECK_MESSAGE(answers.take(answer), answer << " is not taken");
    }
    for (const std::string answer : bad) {
        CHECK_MESSAGE(!answers.take(answer), answer << " is taken");
    }
}

} // namespace

TEST_CASE("malformed schemas are refused by path") {
    CHECK(wrong("3") == " '3': expected a schema: an object, true or false");
    CHECK(
        wrong(R"({"properties": {"age": {"type": "integer", "minimum": "x"}}})") ==
        ".properties.age.minimum 'x': expected a number"
    );
    CHECK(
        wrong(R"({"type": "text"})") == ".type 'text': expected \"null\", \"boolean\", \"number\", "
                                        "\"integer\", \"string\", \"array\" or \"object\""
    );
    CHECK(wrong(R"({"type": []})") == ".type '[]': expected at least one type");
    CHECK(wrong(R"({"type": ["null", "null"]})") == ".type[1] '\"null\"': expected each type at most once");
    CHECK(wrong(R"({"items": {"enum": []}})") == ".items.enum '[]': expected an array of at least one value");
    CHECK(wrong(R"({"minLength": -1})") == ".minLength '-1': expected an integer of 0 or more");
    CHECK(wrong(R"({"maxItems": 1.5})") == ".maxItems '1.5': expected an integer of 0 or more");
    CHECK(wrong(R"({"multipleOf": 0})") == ".multipleOf '0': expected a number greater than 0");
    CHECK(wrong(R"({"anyOf": []})") == ".anyOf '[]': expected an array of at least one schema");
    CHECK(
        wrong(R"({"anyOf": [{}, {"not": 1}]})") ==
        ".anyOf[1].not '1': expected a schema: an object, true or false"
    );
    CHECK(wrong(R"({"required": "a"})") == ".required 'a': expected an array of names");
    CHECK(wrong(R"({"required": [1]})") == ".required[0] '1': expected a string");
    CHECK(wrong(R"({"properties": []})") == ".properties '[]': expected an object of schemas");
    CHECK(wrong(R"({"uniqueItems": 1})") == ".uniqueItems '1': expected true or false");
    CHECK(wrong(R"({"exclusiveMinimum": true})") == ".exclusiveMinimum 'true': expected a number");
    CHECK(
        wrong(R"({"type": "integer", "minimum": 5, "maximum": 3})") ==
        ".minimum '5': expected at most \"maximum\", 3"
    );
    CHECK(
        wrong(R"({"type": "string", "minLength": 5, "maxLength": 3})") ==
        ".minLength '5': expected at most \"maxLength\", 3"
    );
    const auto closed = wrong(R"({"required": ["a"], "additionalProperties": false})");
    CHECK(closed.starts_with(".required[0] 'a': expected a name in \"properties\", or"));
}

TEST_CASE("schemas that allow no value are refused") {
    CHECK(wrong("false") == ": no value matches this schema");
    CHECK(wrong(R"({"type": "string", "enum": [1, 2]})") == ": no value matches this schema");
    CHECK(wrong(R"({"allOf": [{"type": "string"}, {"type": "null"}]})") == ": no value matches this schema");
    CHECK(
        wrong(R"({"type": "object", "properties": {"n": {"$ref": "#"}}, "required": ["n"]})") ==
        ": every value contains another value of this schema; make that member optional, or allow null"
    );
}

TEST_CASE("references are resolved, or refused by path") {
    CHECK(wrong(R"({"$ref": "#/$defs/a"})") == ".$ref '#/$defs/a': expected an existing path in this schema");
    CHECK(wrong(R"({"$ref": "#/x", "x": 3})") == ".$ref '#/x': expected the path of a schema");
    CHECK(
        beyond(R"({"$ref": "https://example.org/a.json"})") ==
        ".$ref 'https://example.org/a.json': expected a reference into this schema, such as \"#/$defs/name\""
    );
    CHECK(
        wrong(R"({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}})") ==
        ".$defs.a.$ref: circular reference; put an object or an array in between"
    );
    CHECK(
        wrong(R"({"$ref": "#/$defs/a", "$defs": {"a": {"minLength": "x"}}})") ==
        ".$defs.a.minLength 'x': expected an integer of 0 or more"
    );
    check(
        R"({"type": "object", "properties": {"next": {"$ref": "#"}}})",
        {"{}", R"({"next":{"next":{}}})"},
        {R"({"next":1})"}
    );
    // llama.cpp gives both the same rule name.
    check(
        R"({"prefixItems": [{"$ref": "#/$defs/a.b"}, {"$ref": "#/$defs/a-b"}],
            "$defs": {"a.b": {"type": "null"}, "a-b": {"type": "boolean"}}})",
        {"[null,true]"},
        {"[null,null]", "[true,true]"}
    );
    check(R"({"$ref": "#/%24defs/a~1b~0", "$defs": {"a/b~": {"const": 1}}})", {"1"}, {"2"});
}

TEST_CASE("keywords that no grammar can enforce are refused with a way out") {
    CHECK(beyond(R"({"items": {"not": {}}})") == ".items.not: not supported");
    CHECK(beyond(R"({"if": {}, "then": {}})") == ".if: not supported");
    CHECK(beyond(R"({"patternProperties": {"a": {}}})") == ".patternProperties: not supported");
    CHECK(beyond(R"({"propertyNames": {}})") == ".propertyNames: not supported");
    CHECK(beyond(R"({"contains": {}})") == ".contains: not supported");
    CHECK(beyond(R"({"dependentSchemas": {}})") == ".dependentSchemas: not supported");
    CHECK(beyond(R"({"type": "array", "uniqueItems": true})") == ".uniqueItems: not supported");
    CHECK(
        beyond(R"({"type": "object", "minProperties": 1})") ==
        ".minProperties '1': expected at most 0, the number of \"required\" members"
    );
    CHECK(
        beyond(R"({"type": "object", "maxProperties": 1})") ==
        ".maxProperties '1': expected \"additionalProperties\" false beside it"
    );
    CHECK(beyond(R"({"type": "number", "multipleOf": 0.5})") == ".multipleOf: not supported in a \"number\"");
    CHECK(beyond(R"({"type": "string", "minLength": 5000})") == ".minLength '5000': expected at most 2000");
    CHECK(beyond(R"({"type": "array", "minItems": 5000})") == ".minItems '5000': expected at most 1000");
    CHECK(
        beyond(R"({"oneOf": [{"type": "integer"}, {"type": "number"}]})") ==
        ".oneOf: branches [0] and [1] may both match one value"
    );
    CHECK(
        beyond(R"-({"type": "string", "pattern": "(?=a)"})-") ==
        ".pattern '(?=a)': expected a pattern without \"(?\" (before character 3)"
    );
    CHECK(
        wrong(R"({"type": "string", "pattern": "(a"})") ==
        ".pattern '(a': expected a regular expression without an unclosed \"(\" (before character 3)"
    );
    CHECK(
        beyond(R"({"type": "integer", "minimum": 1e20})") ==
        ": the bounds leave numbers beyond 999999999999999 only"
    );
}

TEST_CASE("bounds of integers are enforced") {
    check(R"({"type": "integer"})", {"0", "-7", "12"}, {"1.5", "01", "\"1\""});
    check(R"({"type": "integer", "minimum": 100})", {"100", "5000"}, {"10", "99", "-100", "0100"});
    check(R"({"type": "integer", "maximum": -5})", {"-5", "-44"}, {"-4", "-05", "5"});
    check(R"({"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 3.5})", {"2", "3"}, {"1", "4"});
    check(
        R"({"type": "integer", "minimum": 1, "maximum": 50, "multipleOf": 7})", {"7", "49"}, {"1", "50", "0"}
    );
}

TEST_CASE("bounds of numbers are enforced") {
    check(R"({"type": "number"})", {"-1.5e3", "0"}, {"1e999", "01", "."});
    check(R"({"type": "number", "minimum": 0, "maximum": 1})", {"0", "1", "0.25"}, {"1.5", "-0.1", "2"});
    check(
        R"({"type": "number", "exclusiveMinimum": 0, "maximum": 0.57})",
        {"0.57", "0.001"},
        {"0", "0.0", "0.58"}
    );
    check(R"({"type": "number", "minimum": -2.75})", {"-2.75", "-2", "300.5"}, {"-2.76", "-3"});
    check(R"({"type": "number", "maximum": -10.5})", {"-10.5", "-11"}, {"-10.4", "0", "1"});
}

TEST_CASE("a format is enforced, also with a length, or refused") {
    check(R"({"type": "string", "format": "date", "maxLength": 40})", {R"("2024-02-28")"}, {R"("hello")"});
    check(
        R"({"type": "string", "format": "time", "maxLength": 9})",
        {R"("23:59:00Z")"},
        {R"("23:59:00+01:00")", R"("23:59:00.123Z")", R"("24:00:00Z")"}
    );
    check(
        R"({"type": "string", "format": "date-time", "minLength": 26})",
        {R"("2024-02-28T23:59:00.123+01:00")"},
        {R"("2024-02-28T23:59:00Z")"}
    );
    check(
        R"({"enum": ["2024-02-28", "hello", 3], "format": "date"})", {R"("2024-02-28")", "3"}, {R"("hello")"}
    );
    check(R"({"type": "integer", "format": "int32"})", {"3"}, {R"("3")"}); // formats apply to strings only
    const auto known = "expected \"date\", \"time\", \"date-time\" or \"uuid\"";
    for (const char* format : {"email", "uri", "hostname", "ipv4", "uuid1", "nosuch"}) {
        const auto text = std::string(R"({"maxLength": 40, "format": ")") + format + "\"}";
        CHECK(refusal(text, SOTTO_ERROR_UNSUPPORTED).find(known) != std::string::npos);
    }
    refusal(R"({"type": "string", "format": "date", "pattern": "^2"})", SOTTO_ERROR_UNSUPPORTED);
    refusal(
        R"({"allOf": [{"type": "string", "format": "date"}, {"format": "time"}]})", SOTTO_ERROR_UNSUPPORTED
    );
    refusal(R"({"type": "string", "format": "date", "maxLength": 8})", SOTTO_ERROR_ARGUMENT);
}

TEST_CASE("length, format and pattern of strings are enforced") {
    check(R"({"type": "string"})", {R"("aé\n\u00e9")"}, {"\"a", "\"\n\"", R"("\x")", R"("\ud800")"});
    check(
        R"({"type": "string", "minLength": 2, "maxLength": 3})",
        {R"("ab")", R"("🗡🗡🗡")"},
        {R"("a")", R"("abcd")"}
    );
    check(
        R"({"type": "string", "format": "date"})", {R"("2024-02-28")"}, {R"("2024-02-31")", R"("2024-13-01")"}
    );
    check(
        R"({"type": "string", "pattern": "^.\"$"})",
        {R"("a\"")", R"("\"\"")"},
        {R"("a"")", R"(""")", R"("\")"}
    );
    check(R"({"type": "string", "pattern": "^a+?$"})", {R"("a")", R"("aa")"}, {R"("")"});
    check(R"({"type": "string", "pattern": "ice"})", {R"("ice")", R"("nice day")"}, {R"("day")"});
    check(
        R"({"type": "string", "pattern": "^[a-z]+$", "maxLength": 2})", {R"("ab")"}, {R"("abc")", R"("A")"}
    );
    check(
        R"({"type": "string", "pattern": "^\\d\\s[^\\w]\\n$"})", {R"("1 !\n")"}, {R"("1 a\n")", "\"1 !\n\""}
    );
}

TEST_CASE("objects have their required members and no others") {
    check(
        R"({"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a"]})",
        {R"({"a":1})", R"({"a":1,"b":[]})"},
        {"{}", R"({"a":"x"})", R"({"a":1,"c":1})"}
    );
    check(
        R"({"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "null"}})",
        {R"({"a":1,"b":null})", R"({"aa":null})", "{}"},
        {R"({"\u0061":null})", R"({"a":null})", R"({"b":1})", R"({"\":null})"}
    );
    check(
        R"({"type": "object", "properties": {"]": {"const": 1}, "^": {"const": 2}}, "additionalProperties": {"const": 3}})",
        {R"({"]":1,"^":2,"-":3})", R"({"^^":3})"},
        {R"({"]":3})", R"({"^":3})"}
    );
    check(
        R"({"type": "object", "required": ["a"], "additionalProperties": {"const": 1}})",
        {R"({"a":1,"b":1})"},
        {"{}"}
    );
    // A member whose rule name collides with one of llama.cpp's rules.
    check(
        R"({"type": "object", "properties": {"integral part": {"const": 1}, "n": {"type": "number"}},
            "required": ["integral part", "n"]})",
        {R"({"integral part":1,"n":7})"},
        {}
    );
}

TEST_CASE("combined schemas are enforced together") {
    check(
        R"({"allOf": [{"properties": {"a": {"type": "integer", "minimum": 3}}, "required": ["a"]},
                      {"properties": {"a": {"maximum": 5}, "b": {"type": "null"}}}]})",
        {R"({"a":4})", R"({"a":5,"b":null})"},
        {"{}", R"({"a":2})", R"({"a":6})"}
    );
    check(
        R"({"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}},
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}]})",
        {R"({"a":1})", R"({"b":2})"},
        {"{}"}
    );
    check(
        R"({"oneOf": [{"type": "object", "properties": {"k": {"const": "a"}}, "required": ["k"]},
                      {"type": "object", "properties": {"k": {"const": "b"}, "x": {}}, "required": ["k", "x"]}]})",
        {R"({"k":"a"})", R"({"k":"b","x":1})"},
        {R"({"k":"b"})", R"({"k":"c"})"}
    );
    check(
        R"({"type": ["integer", "null"], "minimum": 5, "enum": [1, 7, null, "a"]})",
        {"7", "null"},
        {"1", "\"a\""}
    );
    check(
        R"({"$ref": "#/$defs/n", "maximum": 3, "$defs": {"n": {"type": "integer", "minimum": 1}}})",
        {"2"},
        {"0", "4"}
    );
}

TEST_CASE("length and item schemas of arrays are enforced") {
    check(
        R"({"type": "array", "items": {"type": "null"}, "minItems": 1, "maxItems": 2})",
        {"[null]", "[null, null]"},
        {"[]", "[null,null,null]", "[1]"}
    );
    check(
        R"({"prefixItems": [{"const": 1}, {"const": 2}], "items": {"const": 3}, "minItems": 3})",
        {"[1,2,3]"},
        {"[1,2]", "[1,2,2]"}
    );
    check(R"({"items": [{"const": 1}, {"const": 2}]})", {"[1,2]"}, {"[2,1]"});
    check(R"({"type": "array", "items": false})", {"[]"}, {"[1]"});
}

TEST_CASE("a long enum shares common prefixes in the grammar") {
    Json values = Json::array();
    for (int i = 0; i < 1500; ++i) {
        values.push_back("word " + std::to_string(i));
    }
    Answers answers(Json{{"enum", values}}.dump());
    CHECK(answers.take("\"word 7\""));
    CHECK(answers.take("\"word 1499\""));
    CHECK(!answers.take("\"word 1500\""));
    CHECK(!answers.take("\"word \""));
}

TEST_CASE("huge schemas are refused, or converted to a small grammar, quickly") {
    Json members = Json::object();
    for (int i = 0; i < 20; ++i) {
        members["text" + std::to_string(i)] = {{"type", "string"}, {"maxLength", 1'000'000}};
    }
    Answers(Json{{"type", "object"}, {"properties", members}}.dump()).take("{}");
    Json deep = {{"type", "null"}};
    for (int i = 0; i < 100; ++i) {
        deep = {{"type", "array"}, {"items", deep}};
    }
    CHECK(beyond(deep.dump()).find("nested deeper than 64 levels") != std::string::npos);
    CHECK(
        beyond(R"({"type": "string", "pattern": "^([a-z]+)*$"})").find("too ambiguous") != std::string::npos
    );
}

TEST_CASE("tool arguments are an object whose members llama.cpp sees") {
    const auto held = held_schema(
        Json::parse(
            R"({"properties": {"a": {"type": "integer", "minimum": 5}}, "additionalProperties": true})"
        ),
        "tools[0].function.parameters",
        "t0",
        SchemaUse::Arguments
    );
    CHECK(held.schema["type"] == "object");
    CHECK(held.schema["properties"]["a"]["maximum"] == 999'999'999'999'999);
    CHECK(held.schema["additionalProperties"] == false);
    CHECK(held_schema(Json::object(), "x", "t1", SchemaUse::Arguments).schema["type"] == "object");
}
