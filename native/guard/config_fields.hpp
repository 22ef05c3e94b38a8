// Typed access to the fields of a guardrail configuration. Every function throws Error(SOTTO_ERROR_ARGUMENT)
// that names the JSON path.
#pragma once

#include <initializer_list>
#include <string>

#include "base/error.hpp"
#include "guard/verdict.hpp"
#include "text/json_reader.hpp"

namespace sotto::guard {

[[noreturn]] void refuse(const std::string& path, const Json& value, const std::string& expected);

// Returns the path of a list's element.
std::string at(const std::string& path, std::size_t index);

// Refuses a field of `object` that is not in `known`.
void check_names(const Json& object, const std::string& path, std::initializer_list<const char*> known);

// Returns a string field, or null if it is absent.
const std::string*
text_of(const Fields& fields, const char* name, std::size_t most, const char* expected = "a string");

// Returns the field "action": block if it is absent.
Action action_of(const Fields& fields);

// Refuses a field that has an effect only beside "action": "rewrite", if the action is another.
void check_rewrites(const Fields& fields, const char* name, Action action);

// Counts one more element of the whole configuration.
void count(std::size_t& counted, std::size_t most, const std::string& path);

// Calls `add` with each string of the list `list` and its path.
template <typename Add>
void each_text_of(const Json& list, const std::string& path, Add&& add) {
    if (!list.is_array()) {
        refuse(path, list, "a list of strings");
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
        const auto* text = list[i].get_ptr<const std::string*>();
        const auto where = at(path, i);
        if (text == nullptr) {
            refuse(where, list[i], "a string");
        }
        add(*text, where, list[i]);
    }
}

// Does the same with a field. Does nothing if the field is absent.
template <typename Add>
void each_text(const Fields& fields, const char* name, Add&& add) {
    if (const auto* list = fields.find(name); list != nullptr) {
        each_text_of(*list, fields.path(name), add);
    }
}

} // namespace sotto::guard
