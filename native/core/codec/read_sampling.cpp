// Validates sampling fields and the fields that constrain the answer's format.
#include <cmath>
#include <string>

#include "base/error.hpp"
#include "core/codec/checks.hpp"
#include "request/fields.hpp"

namespace sotto {
namespace {

void check_strings(const Fields& body, const RequestField& key) {
    const Json* list = body.find(key);
    if (list == nullptr) {
        return;
    }
    const auto what = "an array of 1 to " + std::to_string(key.items) + " strings of 1 to " +
                      std::to_string(key.max_bytes) + " bytes";
    if (!list->is_array() || list->empty() || list->size() > key.items) {
        body.refuse(key, *list, what);
    }
    for (const auto& one : *list) {
        const bool fits = one.is_string() && !one.get_ref<const std::string&>().empty() &&
                          one.get_ref<const std::string&>().size() <= key.max_bytes;
        if (!fits) {
            body.refuse(key, one, what);
        }
    }
}

bool is_bias(const Json& bias) {
    constexpr double kMost = 100;
    return bias == false || (bias.is_number() && std::fabs(bias.get<double>()) <= kMost);
}

bool is_biased(const Json& pair) {
    return pair.is_array() && pair.size() == 2 && is_bias(pair[1]) &&
           (pair[0].is_number_unsigned() ||
            (pair[0].is_string() && !pair[0].get_ref<const std::string&>().empty()));
}

void check_biases(const Fields& body) {
    const Json* biases = body.find(field::logit_bias);
    if (biases == nullptr) {
        return;
    }
    const char* what =
        "an object from tokens to numbers from -100 to 100, or an array of [token, number] pairs";
    if (!biases->is_structured() || biases->size() > field::logit_bias.items) {
        body.refuse(field::logit_bias, *biases, what);
    }
    const bool named = biases->is_object();
    for (const auto& [key, bias] : biases->items()) {
        if (named ? !is_bias(bias) : !is_biased(bias)) {
            const auto entry = "logit_bias[" + (named ? excerpt(key) : key) + "]"; // a key can be any string
            const char* must =
                named ? "a number from -100 to 100, or false" : "[token, number from -100 to 100]";
            body.refuse(entry.c_str(), bias, must);
        }
    }
}

void check_samplers(const Fields& body) {
    const Json* samplers = body.find(field::samplers);
    if (samplers == nullptr) {
        return;
    }
    if (samplers->is_string()) {
        if (samplers->get_ref<const std::string&>().size() > field::samplers.items) {
            body.refuse(
                field::samplers, *samplers, "at most " + std::to_string(field::samplers.items) + " letters"
            );
        }
        return;
    }
    check_strings(body, field::samplers);
}

void check_schema(const Fields& owner, const char* key) {
    const Json* schema = owner.find(key);
    if (schema != nullptr && !schema->is_object() && !schema->is_boolean()) {
        owner.refuse(key, *schema, "a JSON schema");
    }
}

bool check_response_format(const Fields& body) {
    const Json* format = body.find(field::response_format);
    if (format == nullptr) {
        return false;
    }
    if (!format->is_object()) {
        body.refuse(field::response_format, *format, "a JSON object");
    }
    const Fields fields(*format, "response_format");
    const char* what = "\"text\", \"json_object\" or \"json_schema\"";
    const Json& type = fields.require("type", what);
    if (type == "json_schema") {
        const Json& wrapped = fields.require("json_schema", "a JSON object with \"schema\"");
        if (!wrapped.is_object()) {
            fields.refuse("json_schema", wrapped, "a JSON object with \"schema\"");
        }
        const Fields inner(wrapped, "response_format.json_schema");
        inner.require("schema", "a JSON schema");
        check_schema(inner, "schema");
    } else if (type == "json_object") {
        check_schema(fields, "schema");
    } else if (type != "text") {
        fields.refuse("type", type, what);
    }
    return type != "text";
}

} // namespace

void check_sampling(const Fields& body) {
    check_strings(body, field::dry_sequence_breakers);
    check_samplers(body);
    check_biases(body);
}

// Throws if more than one field constrains the answer's format.
std::string check_form(const Fields& body) {
    check_schema(body, field::json_schema);
    std::vector<std::string> forms;
    if (check_response_format(body)) {
        forms.emplace_back(field::response_format);
    }
    const Json* tools = body.find(field::tools);
    const Json* choice = body.find(field::tool_choice);
    if (tools != nullptr && !tools->empty() && (choice == nullptr || *choice != "none")) {
        forms.emplace_back(field::tools);
    }
    for (const char* key : {field::grammar.name, field::json_schema.name}) {
        if (body.find(key) != nullptr) {
            forms.emplace_back(key);
        }
    }
    if (forms.size() > 1) {
        throw Error(
            SOTTO_ERROR_ARGUMENT,
            "invalid " + forms[1] + ": expected no second form beside " + forms[0] + "; remove one of them"
        );
    }
    return forms.empty() ? "" : forms.front();
}

void check_template_kwargs(const Fields& body) {
    const Json* more = body.find(field::chat_template_kwargs);
    if (more == nullptr) {
        return;
    }
    if (!more->is_object()) {
        body.refuse(field::chat_template_kwargs, *more, "a JSON object");
    }
    // The values are limited because backends search them linearly.
    constexpr auto kLimits = field::chat_template_kwargs;
    const auto bytes = to_text(*more).size();
    if (more->size() > kLimits.items || bytes > kLimits.max_bytes) {
        throw Error(
            SOTTO_ERROR_ARGUMENT,
            "invalid chat_template_kwargs '" + std::to_string(more->size()) + " fields, " +
                std::to_string(bytes) + " bytes': expected at most " + std::to_string(kLimits.items) +
                " fields and " + std::to_string(kLimits.max_bytes) +
                " bytes; remove fields that the template does not use"
        );
    }
    Fields(*more, field::chat_template_kwargs.name).boolean("enable_thinking");
}

} // namespace sotto
