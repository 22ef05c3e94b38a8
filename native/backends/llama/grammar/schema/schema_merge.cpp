// Merges two JSON schemas of one type (allOf).
#include "grammar/schema/schema_parts.hpp"

#include <algorithm>

namespace sotto::llama {
namespace {

// Returns a schema that requires both child schemas. They are merged lazily, when the Flattener visits the
// result.
Schema both_of(const Schema& one, const Schema& other) {
    return one == other ? one : Schema{{"allOf", Schema::array({one, other})}};
}

// Returns an object's schema for members that it does not name, or nullptr.
const Schema* of_others(const Schema& object) {
    const auto found = object.find("additionalProperties");
    return found == object.end() ? nullptr : &*found;
}

void merge_members(Schema& result, const Schema& one, const Schema& other) {
    auto members = Schema::object();
    for (const auto* each : {&one, &other}) {
        const auto& partner = each == &one ? other : one;
        const auto here = each->find("properties");
        if (here == each->end()) {
            continue;
        }
        const auto there = partner.find("properties");
        for (const auto& [name, schema] : here->items()) {
            if (members.contains(name)) {
                continue;
            }
            const auto* more =
                there != partner.end() && there->contains(name) ? &(*there)[name] : of_others(partner);
            members[name] = more == nullptr ? schema : both_of(schema, *more);
        }
    }
    if (!members.empty() || one.contains("properties") || other.contains("properties")) {
        result["properties"] = std::move(members);
    }
}

const Schema* item_of(const Schema& array, std::size_t index) {
    const auto first = array.find("prefixItems");
    if (first != array.end() && index < first->size()) {
        return &(*first)[index];
    }
    const auto rest = array.find("items");
    return rest == array.end() ? nullptr : &*rest;
}

void merge_items(Schema& result, const Schema& one, const Schema& other) {
    const auto size = [](const Schema& array) {
        return array.contains("prefixItems") ? array["prefixItems"].size() : 0;
    };
    const auto max = std::max(size(one), size(other));
    auto first = Schema::array();
    for (std::size_t i = 0; i < max; ++i) {
        const auto* here = item_of(one, i);
        const auto* there = item_of(other, i);
        first.push_back(here == nullptr ? *there : there == nullptr ? *here : both_of(*here, *there));
    }
    if (max > 0) {
        result["prefixItems"] = std::move(first);
    }
}

Schema merged_names(const Schema& one, const Schema& other) {
    auto all = one;
    for (const auto& name : other) {
        if (std::find(all.begin(), all.end(), name) == all.end()) {
            all.push_back(name);
        }
    }
    return all;
}

// Merges the values of a keyword that both schemas have.
Schema merged_value(const std::string& key, const Schema& one, const Schema& other, const std::string& path) {
    if (one == other) {
        return one;
    }
    if (key.starts_with("min") || key == "exclusiveMinimum") {
        return std::max(one, other);
    }
    if (key.starts_with("max") || key == "exclusiveMaximum") {
        return std::min(one, other);
    }
    if (key == "required") {
        return merged_names(one, other);
    }
    if (key == "uniqueItems") {
        return one == true || other == true;
    }
    if (key == "items" || key == "additionalProperties") {
        return both_of(one, other);
    }
    unsupported_schema(path, "two values of \"" + key + "\" in one place; write them as one");
}

} // namespace

Schema merge_keywords(const Schema& one, const Schema& other, const std::string& path) {
    auto result = Schema::object();
    for (const auto* each : {&one, &other}) {
        const auto& partner = each == &one ? other : one;
        for (const auto& [key, value] : each->items()) {
            if (result.contains(key) || key == "properties" || key == "prefixItems" || key == "type") {
                continue;
            }
            if (!partner.contains(key)) {
                if (key != "inferred") {
                    result[key] = value;
                }
            } else {
                result[key] = merged_value(key, value, partner[key], path);
            }
        }
    }
    merge_members(result, one, other);
    merge_items(result, one, other);
    return result;
}

} // namespace sotto::llama
