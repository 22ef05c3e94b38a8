// Detects references in a JSON schema that never end.
#include "grammar/schema/schema_parts.hpp"

#include <algorithm>

namespace sotto::llama {
namespace {

// Finds a "$ref" that leads back to itself without consuming a value.
class Circles {
public:
    explicit Circles(const Schema& root) : root_(root) {}

    void look(const Schema& schema, const std::string& path) {
        if (!schema.is_object() || done_.contains(&schema)) {
            return;
        }
        if (std::find(way_.begin(), way_.end(), &schema) != way_.end()) {
            refuse_schema(path, "circular reference; put an object or an array in between");
        }
        if (way_.size() > kLongestWay) {
            unsupported_schema(
                path, "more than " + std::to_string(kLongestWay) + " references in one chain; use fewer"
            );
        }
        way_.push_back(&schema);
        for (const char* key : {"allOf", "anyOf", "oneOf"}) {
            if (const auto found = schema.find(key); found != schema.end()) {
                for (std::size_t i = 0; i < found->size(); ++i) {
                    look((*found)[i], below(below(path, key), i));
                }
            }
        }
        if (const auto found = schema.find("$ref"); found != schema.end()) {
            look(*find_ref(root_, found->get_ref<const std::string&>()), below(path, "$ref"));
        }
        way_.pop_back();
        done_.insert(&schema);
    }

private:
    static constexpr std::size_t kLongestWay = 200;

    const Schema& root_;
    std::vector<const Schema*> way_;
    std::set<const Schema*> done_;
};

// Returns true if a value of this rewritten schema can be finite. `ending`: names of the schemas that are
// known to have a finite value.
bool ends(const Schema& schema, const std::set<std::string>& ending) {
    const auto does = [&](const Schema& each) { return ends(each, ending); };
    if (schema.contains("$ref")) {
        return ending.contains(schema["$ref"].get<std::string>().substr(2));
    }
    if (schema.contains("anyOf")) {
        return std::any_of(schema["anyOf"].begin(), schema["anyOf"].end(), does);
    }
    if (schema.contains("prefixItems")) {
        return std::all_of(schema["prefixItems"].begin(), schema["prefixItems"].end(), does);
    }
    if (schema.contains("minItems")) {
        return does(schema["items"]);
    }
    return !schema.contains("required") ||
           std::all_of(schema["required"].begin(), schema["required"].end(), [&](const Schema& name) {
               return does(schema["properties"][name.get_ref<const std::string&>()]);
           });
}

} // namespace

void check_circles(const Schema& root, const std::map<const Schema*, std::string>& all) {
    Circles circles(root);
    for (const auto& [schema, place] : all) {
        circles.look(*schema, place);
    }
}

std::set<std::string> endless_of(const Schema& document) {
    std::set<std::string> ending;
    for (std::size_t before = SIZE_MAX; before != ending.size();) {
        before = ending.size();
        for (const auto& [name, schema] : document.items()) {
            if (ends(schema, ending)) {
                ending.insert(name);
            }
        }
    }
    std::set<std::string> endless;
    for (const auto& [name, schema] : document.items()) {
        if (!ending.contains(name)) {
            endless.insert(name);
        }
    }
    return endless;
}

} // namespace sotto::llama
