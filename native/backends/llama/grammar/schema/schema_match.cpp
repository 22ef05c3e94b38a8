// Tests a value against a JSON schema. Used to filter the values of an "enum".
#include "grammar/schema/schema_parts.hpp"

#include <algorithm>
#include <cmath>
#include <regex>

namespace sotto::llama {
namespace {

bool whole(const Schema& value) {
    return value.is_number_integer() ||
           (value.is_number_float() && value.get<double>() == std::floor(value.get<double>()));
}

bool has_type(const Schema& value, const std::string& type) {
    return (type == "null" && value.is_null()) || (type == "boolean" && value.is_boolean()) ||
           (type == "number" && value.is_number()) || (type == "integer" && whole(value)) ||
           (type == "string" && value.is_string()) || (type == "array" && value.is_array()) ||
           (type == "object" && value.is_object());
}

std::size_t characters(const std::string& text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return (c & 0xC0) != 0x80;
    }));
}

class Matcher {
public:
    Matcher(const Schema& root, const std::string& path) : root_(root), path_(path) {}

    bool matches(const Schema& schema, const Schema& value) const {
        if (schema.is_boolean()) {
            return schema.get<bool>();
        }
        return typed(schema, value) && listed(schema, value) && combined(schema, value) &&
               (!value.is_number() || number(schema, value)) &&
               (!value.is_string() || string(schema, value)) && (!value.is_array() || array(schema, value)) &&
               (!value.is_object() || object(schema, value));
    }

private:
    // Returns the result of `check` for the keyword's value; true if the keyword is absent.
    template <typename Check>
    static bool where(const Schema& schema, const char* key, Check&& check) {
        const auto found = schema.find(key);
        return found == schema.end() || check(*found);
    }

    static bool typed(const Schema& schema, const Schema& value) {
        return where(schema, "type", [&](const Schema& type) {
            return type.is_string() ? has_type(value, type)
                                    : std::any_of(type.begin(), type.end(), [&](const Schema& each) {
                                          return has_type(value, each);
                                      });
        });
    }

    static bool listed(const Schema& schema, const Schema& value) {
        return where(schema, "const", [&](const Schema& only) { return same(only, value); }) &&
               where(schema, "enum", [&](const Schema& all) {
                   return std::any_of(all.begin(), all.end(), [&](const Schema& each) {
                       return same(each, value);
                   });
               });
    }

    bool combined(const Schema& schema, const Schema& value) const {
        const auto fits = [&](const Schema& each) { return matches(each, value); };
        return where(schema, "$ref", [&](const Schema& ref) { return fits(*find_ref(root_, ref)); }) &&
               where(
                   schema,
                   "allOf",
                   [&](const Schema& all) { return std::all_of(all.begin(), all.end(), fits); }
               ) &&
               where(
                   schema,
                   "anyOf",
                   [&](const Schema& any) { return std::any_of(any.begin(), any.end(), fits); }
               ) &&
               where(schema, "oneOf", [&](const Schema& one) {
                   return std::count_if(one.begin(), one.end(), fits) == 1;
               });
    }

    static bool number(const Schema& schema, const Schema& value) {
        return where(schema, "minimum", [&](const Schema& min) { return value >= min; }) &&
               where(schema, "maximum", [&](const Schema& max) { return value <= max; }) &&
               where(schema, "exclusiveMinimum", [&](const Schema& min) { return value > min; }) &&
               where(schema, "exclusiveMaximum", [&](const Schema& max) { return value < max; }) &&
               where(schema, "multipleOf", [&](const Schema& step) {
                   return std::fmod(value.get<double>(), step.get<double>()) == 0;
               });
    }

    bool string(const Schema& schema, const Schema& value) const {
        const auto& text = value.get_ref<const std::string&>();
        return where(schema, "minLength", [&](const Schema& min) { return characters(text) >= min; }) &&
               where(schema, "maxLength", [&](const Schema& max) { return characters(text) <= max; }) &&
               where(schema, "pattern", [&](const Schema& pattern) { return fits_pattern(pattern, text); }) &&
               where(schema, "format", [&](const Schema& format) {
                   return fits_pattern(format_pattern(format), text);
               });
    }

    bool fits_pattern(const std::string& pattern, const std::string& text) const {
        constexpr std::size_t kLongest = 1000; // std::regex recurses for each character
        if (text.size() > kLongest || characters(text) != text.size()) {
            unsupported_schema(
                path_,
                "value '" + shown(text) +
                    "' beside a \"pattern\" is too long or not ASCII; remove the \"pattern\""
            );
        }
        try {
            return std::regex_search(text, std::regex(pattern, std::regex::ECMAScript));
        } catch (const std::regex_error& error) {
            refuse_schema(
                path_, "pattern '" + shown(pattern) + "' is not a regular expression: " + error.what()
            );
        }
    }

    bool array(const Schema& schema, const Schema& value) const {
        const auto size = value.size();
        std::size_t from = 0;
        for (const char* key : {"prefixItems", "items"}) {
            const auto found = schema.find(key);
            if (found == schema.end()) {
                continue;
            }
            for (; found->is_array() && from < std::min(size, found->size()); ++from) {
                if (!matches((*found)[from], value[from])) {
                    return false;
                }
            }
        }
        const char* rest = where(schema, "items", [](const Schema& items) { return !items.is_array(); })
                               ? "items"
                               : "additionalItems";
        return where(schema, "minItems", [&](const Schema& min) { return size >= min; }) &&
               where(schema, "maxItems", [&](const Schema& max) { return size <= max; }) &&
               where(
                   schema,
                   rest,
                   [&](const Schema& each) {
                       return std::all_of(
                           value.begin() + static_cast<std::ptrdiff_t>(from),
                           value.end(),
                           [&](const Schema& item) { return matches(each, item); }
                       );
                   }
               ) &&
               where(schema, "uniqueItems", [&](const Schema& unique) {
                   return unique == false || distinct(value);
               });
    }

    static bool distinct(const Schema& value) {
        for (auto item = value.begin(); item != value.end(); ++item) {
            if (std::any_of(std::next(item), value.end(), [&](const Schema& other) {
                    return same(*item, other);
                })) {
                return false;
            }
        }
        return true;
    }

    bool object(const Schema& schema, const Schema& value) const {
        const auto named = schema.find("properties");
        for (const auto& [name, member] : value.items()) {
            const bool known = named != schema.end() && named->contains(name);
            const auto other = schema.find("additionalProperties");
            if (known ? !matches((*named)[name], member)
                      : other != schema.end() && !matches(*other, member)) {
                return false;
            }
        }
        return where(
                   schema,
                   "required",
                   [&](const Schema& names) {
                       return std::all_of(names.begin(), names.end(), [&](const Schema& name) {
                           return value.contains(name.get_ref<const std::string&>());
                       });
                   }
               ) &&
               where(schema, "minProperties", [&](const Schema& min) { return value.size() >= min; }) &&
               where(schema, "maxProperties", [&](const Schema& max) { return value.size() <= max; });
    }

    const Schema& root_;
    const std::string& path_;
};

} // namespace

bool same(const Schema& one, const Schema& other) {
    if (!one.is_structured() || one.type() != other.type() || one.size() != other.size()) {
        return one == other;
    }
    return nlohmann::json(one) == nlohmann::json(other); // ignores the order of members
}

bool allows(const Schema& root, const Schema& schema, const Schema& value, const std::string& path) {
    return Matcher(root, path).matches(schema, value);
}

} // namespace sotto::llama
