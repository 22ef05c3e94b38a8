#include "guard/config_fields.hpp"

#include <algorithm>

namespace sotto::guard {

void refuse(const std::string& path, const Json& value, const std::string& expected) {
    throw invalid_argument(path, excerpt(value), expected);
}

std::string at(const std::string& path, std::size_t index) {
    return path + "[" + std::to_string(index) + "]";
}

void check_names(const Json& object, const std::string& path, std::initializer_list<const char*> known) {
    for (const auto& [name, value] : object.items()) {
        if (std::find(known.begin(), known.end(), name) == known.end()) {
            std::string names;
            for (const auto* one : known) {
                names += names.empty() ? one : std::string(", ") + one;
            }
            throw invalid_argument(path, name, "only the fields " + names);
        }
    }
}

const std::string* text_of(const Fields& fields, const char* name, std::size_t most, const char* expected) {
    const auto* value = fields.find(name);
    if (value == nullptr) {
        return nullptr;
    }
    const auto* text = value->get_ptr<const std::string*>();
    if (text == nullptr || text->size() > most) {
        fields.refuse(name, *value, expected + (" of at most " + std::to_string(most) + " bytes"));
    }
    return text;
}

Action action_of(const Fields& fields) {
    const auto* action = fields.find("action");
    if (action == nullptr) {
        return Action::block;
    }
    if (*action != "block" && *action != "rewrite") {
        fields.refuse("action", *action, "\"block\" or \"rewrite\"");
    }
    return *action == "rewrite" ? Action::rewrite : Action::block;
}

void check_rewrites(const Fields& fields, const char* name, Action action) {
    if (const auto* value = fields.find(name); value != nullptr && action != Action::rewrite) {
        fields.refuse(name, *value, "\"action\": \"rewrite\" beside it");
    }
}

void count(std::size_t& counted, std::size_t most, const std::string& path) {
    if (++counted > most) {
        throw Error(
            SOTTO_ERROR_ARGUMENT,
            "invalid " + path + ": expected at most " + std::to_string(most) + " in one configuration"
        );
    }
}

} // namespace sotto::guard
