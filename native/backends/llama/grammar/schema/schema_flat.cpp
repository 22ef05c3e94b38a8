// Splits JSON schemas into flat alternatives, each of one type.
#include "grammar/schema/schema_parts.hpp"

#include <algorithm>
#include <set>

namespace sotto::llama {
namespace {

constexpr std::size_t kMaxAlternatives = 128;
constexpr int kDeepestFlat = 32;
constexpr std::size_t kMaxCompared = 50'000;

const std::map<std::string, std::vector<const char*>>& keywords_by_type() {
    static const auto& all = *new std::map<std::string, std::vector<const char*>>{
        {"null", {}},
        {"boolean", {}},
        {"number", {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}},
        {"integer", {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}},
        {"string", {"minLength", "maxLength", "pattern", "format"}},
        {"array", {"items", "prefixItems", "additionalItems", "minItems", "maxItems", "uniqueItems"}},
        {"object",
         {"properties",
          "required",
          "additionalProperties",
          "minProperties",
          "maxProperties",
          "dependentRequired"}},
    };
    return all;
}

bool speaks_of(const Schema& schema, const std::string& type) {
    const auto& keywords = keywords_by_type().at(type);
    return std::any_of(keywords.begin(), keywords.end(), [&](const char* key) {
        return schema.contains(key);
    });
}

// Returns the types that a schema names or, if it names none, the types that its keywords apply to. An answer
// restricted to these types is valid under the schema.
std::vector<std::string> types_of(const Schema& schema) {
    std::vector<std::string> types;
    const auto named = schema.find("type");
    if (named == schema.end()) {
        for (const char* type : {"object", "array", "string", "number"}) {
            if (speaks_of(schema, type)) {
                types.emplace_back(type);
            }
        }
        return types;
    }
    for (const auto& type : named->is_array() ? *named : Schema::array({*named})) {
        types.push_back(type.get<std::string>());
    }
    if (std::find(types.begin(), types.end(), "number") != types.end()) {
        std::erase(types, "integer");
    }
    return types;
}

// Renames a list "items" to "prefixItems", and "additionalItems" to "items": drafts before 2020-12 use the
// old names.
void modernise(Schema& array) {
    if (const auto items = array.find("items"); items != array.end() && items->is_array()) {
        array["prefixItems"] = Schema(*items);
        array.erase("items");
        if (array.contains("additionalItems")) {
            array["items"] = Schema(array["additionalItems"]);
        }
    }
    array.erase("additionalItems");
}

std::set<std::string> names_of(const Schema& object, const char* key) {
    std::set<std::string> names;
    if (const auto found = object.find(key); found != object.end()) {
        for (const auto& [name, value] : found->items()) {
            names.insert(found->is_array() ? value.get<std::string>() : name);
        }
    }
    return names;
}

// Returns true if the rule for this object allows no members but the named ones.
bool is_closed(const Schema& object) {
    const auto other = object.find("additionalProperties");
    return other == object.end() ? has(object, "properties") : *other == false;
}

} // namespace

std::vector<Schema> Flattener::alternatives(const Schema& schema, const std::string& path) {
    if (schema.is_boolean()) {
        return schema.get<bool>() ? Alternatives{Schema::object()} : Alternatives{};
    }
    if (++depth_ > kDeepestFlat) {
        unsupported_schema(
            path, "more than " + std::to_string(kDeepestFlat) + " schemas combined in one place; use fewer"
        );
    }
    auto found = of_own_keywords(schema, path);
    if (const auto ref = schema.find("$ref"); ref != schema.end()) {
        found = both(found, {Schema{{"$ref", *ref}}}, path);
    }
    if (const auto all = schema.find("allOf"); all != schema.end()) {
        for (std::size_t i = 0; i < all->size(); ++i) {
            found = both(found, alternatives((*all)[i], below(below(path, "allOf"), i)), path);
        }
    }
    if (const auto any = schema.find("anyOf"); any != schema.end()) {
        Alternatives branches;
        for (std::size_t i = 0; i < any->size(); ++i) {
            for (auto& each : alternatives((*any)[i], below(below(path, "anyOf"), i))) {
                branches.push_back(std::move(each));
            }
        }
        found = both(found, branches, path);
    }
    if (const auto one = schema.find("oneOf"); one != schema.end()) {
        found = of_one_of(*one, found, path);
    }
    for (auto& each : found) {
        for (const auto& [all, type, others] :
             {std::tuple{"unevaluatedProperties", "object", "additionalProperties"},
              std::tuple{"unevaluatedItems", "array", "items"}}) {
            if (schema.value(all, true) == false && each.value("type", "") == type && !has(each, others)) {
                each[others] = false;
            }
        }
    }
    --depth_;
    return found;
}

std::vector<Schema> Flattener::objects(const Schema& schema, const std::string& path) {
    return both(alternatives(schema, path), {Schema{{"type", "object"}}}, path);
}

Flattener::Alternatives Flattener::of_own_keywords(const Schema& schema, const std::string& path) {
    if (has(schema, "enum") || has(schema, "const")) {
        auto only = Schema(schema);
        for (const char* key : {"$ref", "allOf", "anyOf", "oneOf", has(schema, "enum") ? "enum" : "const"}) {
            only.erase(key);
        }
        auto left = Schema::array();
        for (const auto& value : has(schema, "enum") ? schema["enum"] : Schema::array({schema["const"]})) {
            if (allows(root_, only, value, path)) {
                left.push_back(value);
            }
        }
        return left.empty() ? Alternatives{} : Alternatives{Schema{{"enum", left}}};
    }
    Alternatives found;
    for (const auto& type : types_of(schema)) {
        Schema alternative = {{"type", type}};
        for (const char* key : keywords_by_type().at(type)) {
            if (has(schema, key)) {
                alternative[key] = schema[key];
            }
        }
        if (!has(schema, "type")) {
            alternative["inferred"] = true;
        }
        modernise(alternative);
        found.push_back(std::move(alternative));
    }
    return found.empty() ? Alternatives{Schema::object()} : found;
}

Flattener::Alternatives
Flattener::of_one_of(const Schema& branches, const Alternatives& own, const std::string& path) {
    std::vector<Alternatives> all;
    const auto place = below(path, "oneOf");
    for (std::size_t i = 0; i < branches.size(); ++i) {
        all.push_back(both(own, alternatives(branches[i], below(place, i)), path));
    }
    Alternatives found;
    for (std::size_t i = 0; i < all.size(); ++i) {
        for (const auto& made : all[i]) {
            for (std::size_t j = 0; j < all.size(); ++j) {
                for (const auto& other : all[j]) {
                    if (i != j && !apart(made, other, place, 0)) {
                        unsupported_schema(
                            place,
                            "branches [" + std::to_string(std::min(i, j)) + "] and [" +
                                std::to_string(std::max(i, j)) +
                                "] may both match one value; use \"anyOf\", or give each branch a "
                                "required member with a distinct \"const\""
                        );
                    }
                }
            }
            found.push_back(made);
        }
    }
    return found;
}

Flattener::Alternatives
Flattener::both(const Alternatives& some, const Alternatives& others, const std::string& path) {
    Alternatives found;
    for (const auto& one : some) {
        for (const auto& other : others) {
            for (auto& each : merged(one, other, path)) {
                if (std::find(found.begin(), found.end(), each) == found.end()) {
                    found.push_back(std::move(each));
                }
            }
            if (found.size() > kMaxAlternatives) {
                unsupported_schema(
                    path, "more than " + std::to_string(kMaxAlternatives) + " alternatives; use fewer"
                );
            }
        }
    }
    return found;
}

Flattener::Alternatives Flattener::merged(const Schema& one, const Schema& other, const std::string& path) {
    if (one.empty() || one == other) {
        return {other};
    }
    if (other.empty()) {
        return {one};
    }
    if (has(one, "$ref") || has(other, "$ref")) {
        return both(expanded(one, path), expanded(other, path), path);
    }
    if (has(one, "enum") || has(other, "enum")) {
        const auto& values = has(one, "enum") ? one : other;
        const auto& rule = has(one, "enum") ? other : one;
        auto left = Schema::array();
        for (const auto& value : values["enum"]) {
            if (allows(root_, rule, value, path)) {
                left.push_back(value);
            }
        }
        return left.empty() ? Alternatives{} : Alternatives{Schema{{"enum", left}}};
    }
    const auto type = one["type"].get<std::string>();
    const auto other_type = other["type"].get<std::string>();
    const bool whole =
        (type == "integer" && other_type == "number") || (type == "number" && other_type == "integer");
    if (type != other_type && !whole) {
        return {};
    }
    auto both_of_them = merge_keywords(one, other, path);
    both_of_them["type"] = whole ? "integer" : type;
    return {both_of_them};
}

Flattener::Alternatives Flattener::expanded(const Schema& alternative, const std::string& path) {
    const auto ref = alternative.find("$ref");
    if (ref == alternative.end()) {
        return {alternative};
    }
    return alternatives(*find_ref(root_, *ref), path);
}

// Returns true if no answer generated from `made` is valid under `other`.
bool Flattener::apart(const Schema& made, const Schema& other, const std::string& path, int depth) {
    constexpr int kDeepestApart = 4;
    if (made.empty() || other.empty() || depth > kDeepestApart || ++compared_ > kMaxCompared) {
        return false;
    }
    if (has(made, "$ref") || has(other, "$ref")) {
        for (const auto& one : expanded(made, path)) {
            for (const auto& two : expanded(other, path)) {
                if (!apart(one, two, path, depth + 1)) {
                    return false;
                }
            }
        }
        return true;
    }
    if (has(made, "enum") || has(other, "enum")) {
        const auto& values = has(made, "enum") ? made : other;
        const auto& rule = has(made, "enum") ? other : made;
        return !has(rule, "inferred") &&
               std::none_of(values["enum"].begin(), values["enum"].end(), [&](const Schema& value) {
                   return allows(root_, rule, value, path);
               });
    }
    const auto type = made["type"].get<std::string>();
    const auto other_type = other["type"].get<std::string>();
    const auto numeric = [](const std::string& each) { return each == "number" || each == "integer"; };
    if (type != other_type && !(numeric(type) && numeric(other_type))) {
        return !has(other, "inferred");
    }
    if (numeric(type)) {
        const auto one = bounds_of(made);
        const auto two = bounds_of(other);
        const auto before = [](const Bounds& low, const Bounds& high) {
            return low.most && high.least &&
                   (*low.most < *high.least ||
                    (*low.most == *high.least && (low.below_most || high.above_least)));
        };
        return before(one, two) || before(two, one);
    }
    if (type == "string") {
        const auto before = [](const Schema& low, const Schema& high) {
            return low.value("maxLength", UINT64_MAX) < high.value("minLength", std::uint64_t{0});
        };
        return before(made, other) || before(other, made);
    }
    if (type != "object") {
        return false;
    }
    const auto required = names_of(made, "required");
    const auto named = names_of(made, "properties");
    const auto others = names_of(other, "properties");
    for (const auto& name : names_of(other, "required")) {
        if (is_closed(made) && !named.contains(name) && !required.contains(name)) {
            return true; // values generated from `made` never have that member
        }
    }
    for (const auto& name : required) {
        if (!others.contains(name)) {
            if (other.value("additionalProperties", Schema(true)) == false) {
                return true;
            }
            continue;
        }
        const auto here = named.contains(name) ? alternatives(made["properties"][name], path)
                                               : Alternatives{Schema::object()};
        const auto there = alternatives(other["properties"][name], path);
        const auto all_apart = [&](const Schema& one) {
            return std::all_of(there.begin(), there.end(), [&](const Schema& two) {
                return apart(one, two, path, depth + 1);
            });
        };
        if (std::all_of(here.begin(), here.end(), all_apart)) {
            return true;
        }
    }
    return false;
}

} // namespace sotto::llama
