// Finds malformed parts of a JSON schema, and parts that no grammar can enforce.
#include "grammar/schema/schema_parts.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>

namespace sotto::llama {
namespace {

constexpr int kDeepestSchema = 64;
constexpr std::size_t kMaxNodes = 20'000;
constexpr std::size_t kMaxValues = 2000;
constexpr std::size_t kLongestName = 256;

// Required type of a keyword's value.
enum class Kind { Count, Number, Positive, String, Boolean, Schema, Schemas, SchemaMap, NameLists, Names };

struct Keyword {
    const char* name;
    Kind kind;
};

constexpr Keyword kKeywords[] = {
    {"minLength", Kind::Count},
    {"maxLength", Kind::Count},
    {"minItems", Kind::Count},
    {"maxItems", Kind::Count},
    {"minContains", Kind::Count},
    {"maxContains", Kind::Count},
    {"minProperties", Kind::Count},
    {"maxProperties", Kind::Count},
    {"minimum", Kind::Number},
    {"maximum", Kind::Number},
    {"exclusiveMinimum", Kind::Number},
    {"exclusiveMaximum", Kind::Number},
    {"multipleOf", Kind::Positive},
    {"pattern", Kind::String},
    {"format", Kind::String},
    {"$ref", Kind::String},
    {"$id", Kind::String},
    {"uniqueItems", Kind::Boolean},
    {"additionalProperties", Kind::Schema},
    {"additionalItems", Kind::Schema},
    {"unevaluatedProperties", Kind::Schema},
    {"unevaluatedItems", Kind::Schema},
    {"propertyNames", Kind::Schema},
    {"contains", Kind::Schema},
    {"not", Kind::Schema},
    {"if", Kind::Schema},
    {"then", Kind::Schema},
    {"else", Kind::Schema},
    {"allOf", Kind::Schemas},
    {"anyOf", Kind::Schemas},
    {"oneOf", Kind::Schemas},
    {"prefixItems", Kind::Schemas},
    {"properties", Kind::SchemaMap},
    {"patternProperties", Kind::SchemaMap},
    {"dependentSchemas", Kind::SchemaMap},
    {"$defs", Kind::SchemaMap},
    {"definitions", Kind::SchemaMap},
    {"dependentRequired", Kind::NameLists},
    {"required", Kind::Names},
};

struct Hopeless {
    const char* name;
    const char* instead;
};

constexpr Hopeless kHopeless[] = {
    {"not", "describe the allowed values instead"},
    {"patternProperties", "name the members in \"properties\", or use \"additionalProperties\""},
    {"propertyNames", "name the members in \"properties\""},
    {"contains", "describe all items in \"items\", or single positions in \"prefixItems\""},
    {"dependentSchemas", "write an \"anyOf\" with one schema per case"},
    {"dependencies", "write an \"anyOf\" with one schema per case"},
    {"$dynamicRef", "use \"$ref\""},
    {"$recursiveRef", "use \"$ref\""},
};

// Checks all schemas of one document.
class Checker {
public:
    Checker(const Schema& root, const std::string& path) : root_(root), root_path_(path) {}

    const std::map<const Schema*, std::string>& check_all() {
        check(root_, root_path_, 0);
        while (!refs_.empty()) { // the target of a reference may be outside of all keywords
            const auto ref = std::move(refs_.back());
            refs_.pop_back();
            if (const auto* target = find_ref(root_, ref); !checked_.contains(target)) {
                check(*target, place_of_ref(root_path_, ref), 1);
            }
        }
        return checked_;
    }

private:
    void check(const Schema& schema, const std::string& path, int depth) {
        if (schema.is_boolean()) {
            return;
        }
        if (!schema.is_object()) {
            refuse_schema(path, schema, "a schema: an object, true or false");
        }
        if (depth > kDeepestSchema) {
            unsupported_schema(
                path, "nested deeper than " + std::to_string(kDeepestSchema) + " levels; use \"$ref\""
            );
        }
        checked_.emplace(&schema, path);
        if (checked_.size() > kMaxNodes) {
            unsupported_schema(
                path,
                "more than " + std::to_string(kMaxNodes) + " schemas in all; use \"$ref\" for repeated ones"
            );
        }
        type(schema, path);
        values(schema, path);
        for (const auto& keyword : kKeywords) {
            if (const auto found = schema.find(keyword.name); found != schema.end()) {
                of_kind(keyword.kind, *found, below(path, keyword.name), depth);
            }
        }
        check_format(schema, path);
        items(schema, path, depth);
        ranges(schema, path);
        ref(schema, path);
        hopeless(schema, path, depth);
    }

    void type(const Schema& schema, const std::string& path) {
        const auto found = schema.find("type");
        if (found == schema.end()) {
            return;
        }
        const auto place = below(path, "type");
        if (!found->is_array()) {
            return type_name(*found, place);
        }
        if (found->empty()) {
            refuse_schema(place, *found, "at least one type");
        }
        std::set<std::string> seen;
        for (std::size_t i = 0; i < found->size(); ++i) {
            type_name((*found)[i], below(place, i));
            if (!seen.insert((*found)[i].get<std::string>()).second) {
                refuse_schema(below(place, i), (*found)[i], "each type at most once");
            }
        }
    }

    void type_name(const Schema& name, const std::string& place) {
        static const auto& known =
            *new std::set<std::string>{"null", "boolean", "number", "integer", "string", "array", "object"};
        if (!name.is_string() || !known.contains(name.get<std::string>())) {
            refuse_schema(
                place,
                name,
                "\"null\", \"boolean\", \"number\", \"integer\", \"string\", \"array\" or \"object\""
            );
        }
    }

    void values(const Schema& schema, const std::string& path) {
        if (const auto found = schema.find("enum"); found != schema.end()) {
            if (!found->is_array() || found->empty()) {
                refuse_schema(below(path, "enum"), *found, "an array of at least one value");
            }
            if (found->size() > kMaxValues) {
                unsupported_schema(
                    below(path, "enum"),
                    std::to_string(found->size()) + " values; at most " + std::to_string(kMaxValues) +
                        " are supported"
                );
            }
        }
    }

    void of_kind(Kind kind, const Schema& value, const std::string& place, int depth) {
        switch (kind) {
        case Kind::Count:
            return require(count(value), value, place, "an integer of 0 or more");
        case Kind::Number:
            return require(value.is_number(), value, place, "a number");
        case Kind::Positive:
            return require(
                value.is_number() && value.get<double>() > 0, value, place, "a number greater than 0"
            );
        case Kind::String:
            return require(value.is_string(), value, place, "a string");
        case Kind::Boolean:
            return require(value.is_boolean(), value, place, "true or false");
        case Kind::Schema:
            return check(value, place, depth + 1);
        case Kind::Schemas:
            return schemas(value, place, depth);
        case Kind::SchemaMap:
            return schema_map(value, place, depth);
        case Kind::NameLists:
            require(value.is_object(), value, place, "an object of arrays of names");
            for (const auto& [name, list] : value.items()) {
                names(list, below(place, name));
            }
            return;
        case Kind::Names:
            return names(value, place);
        }
    }

    static bool count(const Schema& value) {
        return value.is_number_unsigned() ||
               (value.is_number() && value.get<double>() >= 0 && value.get<double>() < 1e15 &&
                value.get<double>() == std::floor(value.get<double>()));
    }

    static void require(bool is_so, const Schema& value, const std::string& place, const char* what) {
        if (!is_so) {
            refuse_schema(place, value, what);
        }
    }

    void schemas(const Schema& value, const std::string& place, int depth) {
        require(value.is_array() && !value.empty(), value, place, "an array of at least one schema");
        for (std::size_t i = 0; i < value.size(); ++i) {
            check(value[i], below(place, i), depth + 1);
        }
    }

    void schema_map(const Schema& value, const std::string& place, int depth) {
        require(value.is_object(), value, place, "an object of schemas");
        for (const auto& [name, schema] : value.items()) {
            if (name.size() > kLongestName) {
                unsupported_schema(
                    place,
                    "a name of " + std::to_string(name.size()) + " bytes; at most " +
                        std::to_string(kLongestName) + " are supported"
                );
            }
            check(schema, below(place, name), depth + 1);
        }
    }

    void names(const Schema& value, const std::string& place) {
        require(value.is_array(), value, place, "an array of names");
        for (std::size_t i = 0; i < value.size(); ++i) {
            require(value[i].is_string(), value[i], below(place, i), "a string");
            if (value[i].get_ref<const std::string&>().size() > kLongestName) {
                unsupported_schema(
                    below(place, i),
                    "longer than " + std::to_string(kLongestName) + " bytes; shorten the name"
                );
            }
        }
    }

    void ranges(const Schema& schema, const std::string& path) {
        for (const auto& [min, max] :
             {std::pair{"minimum", "maximum"},
              {"minLength", "maxLength"},
              {"minItems", "maxItems"},
              {"minProperties", "maxProperties"}}) {
            if (schema.contains(min) && schema.contains(max) && schema[min] > schema[max]) {
                refuse_schema(
                    below(path, min),
                    schema[min],
                    std::string("at most \"") + max + "\", " + shown(schema[max])
                );
            }
        }
        if (schema.value("additionalProperties", Schema(true)) != false || !schema.contains("required")) {
            return;
        }
        for (std::size_t i = 0; i < schema["required"].size(); ++i) {
            const auto& name = schema["required"][i];
            if (!schema.contains("properties") ||
                !schema["properties"].contains(name.get_ref<const std::string&>())) {
                refuse_schema(
                    below(below(path, "required"), i),
                    name,
                    "a name in \"properties\", or \"additionalProperties\" other than false"
                );
            }
        }
    }

    void items(const Schema& schema, const std::string& path, int depth) {
        const auto found = schema.find("items");
        if (found == schema.end()) {
            return;
        }
        if (!found->is_array()) {
            return check(*found, below(path, "items"), depth + 1);
        }
        if (schema.contains("prefixItems")) {
            refuse_schema(below(path, "items"), *found, "a schema, not an array, beside \"prefixItems\"");
        }
        schemas(*found, below(path, "items"), depth);
    }

    void ref(const Schema& schema, const std::string& path) {
        const auto found = schema.find("$ref");
        if (found == schema.end()) {
            return;
        }
        const auto& name = found->get_ref<const std::string&>();
        const auto place = below(path, "$ref");
        if (!name.starts_with("#") || (name.size() > 1 && name[1] != '/')) {
            unsupported_schema(place, *found, "a reference into this schema, such as \"#/$defs/name\"");
        }
        const auto* target = find_ref(root_, name);
        if (target == nullptr) {
            refuse_schema(place, *found, "an existing path in this schema");
        }
        if (!target->is_object() && !target->is_boolean()) {
            refuse_schema(place, *found, "the path of a schema");
        }
        refs_.push_back(name);
    }

    void hopeless(const Schema& schema, const std::string& path, int depth) {
        for (const auto& keyword : kHopeless) {
            if (schema.contains(keyword.name)) {
                unsupported_schema(
                    below(path, keyword.name), std::string("not supported; ") + keyword.instead
                );
            }
        }
        if (schema.contains("if") && (schema.contains("then") || schema.contains("else"))) {
            unsupported_schema(
                below(path, "if"), "not supported; write an \"anyOf\" with one schema per case"
            );
        }
        for (const char* name : {"unevaluatedProperties", "unevaluatedItems"}) {
            if (const auto found = schema.find(name); found != schema.end() && !found->is_boolean()) {
                unsupported_schema(below(path, name), *found, "true or false");
            }
        }
        if (depth > 0 && schema.contains("$id")) {
            unsupported_schema(
                below(path, "$id"), "supported at the root only; remove the field, and refer from the root"
            );
        }
    }

    const Schema& root_;
    const std::string& root_path_;
    std::map<const Schema*, std::string> checked_; // checked schemas, and their paths
    std::vector<std::string> refs_;                // references whose targets are not checked yet
};

} // namespace

void check_schema(const Schema& root, const std::string& path) {
    Checker checker(root, path);
    check_circles(root, checker.check_all());
}

} // namespace sotto::llama
