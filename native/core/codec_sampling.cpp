// How an answer may be wanted: what is chosen from, what form it has, how much is thought.
#include <cmath>
#include <string>

#include "base/error.hpp"
#include "core/codec_checks.hpp"

namespace sotto {
namespace {

struct NumberRange {
    const char* key;
    double least, most;
};
struct IntegerRange {
    const char* key;
    std::int64_t least, most;
};

// What is beyond these is a slip, not a wish: numbers that overflow a float or a buffer.
constexpr NumberRange kNumbers[] = {
    {"temperature", 0, 100},
    {"dynatemp_range", 0, 100},
    {"dynatemp_exponent", 0, 100},
    {"top_p", 0, 1},
    {"min_p", 0, 1},
    {"typical_p", 0, 1},
    {"top_n_sigma", -1, 1000},
    {"xtc_probability", 0, 1},
    {"xtc_threshold", 0, 1},
    {"repeat_penalty", 0.01, 10},
    {"frequency_penalty", -10, 10},
    {"presence_penalty", -10, 10},
    {"dry_multiplier", 0, 100},
    {"dry_base", 0, 100},
    {"mirostat_tau", 0, 100},
    {"mirostat_eta", 0, 10},
};
constexpr IntegerRange kIntegers[] = {
    {"top_k", 0, INT32_MAX},
    {"min_keep", 0, 1000},
    {"repeat_last_n", -1, INT32_MAX},
    {"dry_allowed_length", 0, 10000},
    {"mirostat", 0, 2},
    {"dry_penalty_last_n", -1, INT32_MAX},
    {"seed", -1, UINT32_MAX},
    {"n_keep", -1, INT32_MAX},
    {"n_probs", 0, 20},
};
constexpr std::size_t kMostBreakers = 16;
constexpr std::size_t kLongestBreaker = 40;
constexpr std::size_t kMostBiases = 4096;
constexpr std::size_t kMostSamplers = 32;

void check_strings(const Fields& body, const char* key, std::size_t most, std::size_t longest) {
    const Json* list = body.find(key);
    if (list == nullptr) {
        return;
    }
    const auto what =
        "an array of 1 to " + std::to_string(most) + " strings of 1 to " + std::to_string(longest) + " bytes";
    if (!list->is_array() || list->empty() || list->size() > most) {
        body.refuse(key, *list, what);
    }
    for (const auto& one : *list) {
        const bool fits = one.is_string() && !one.get_ref<const std::string&>().empty() &&
                          one.get_ref<const std::string&>().size() <= longest;
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
    const Json* biases = body.find("logit_bias");
    if (biases == nullptr) {
        return;
    }
    const char* what =
        "an object from tokens to numbers from -100 to 100, or an array of [token, number] pairs";
    if (!biases->is_structured() || biases->size() > kMostBiases) {
        body.refuse("logit_bias", *biases, what);
    }
    const bool named = biases->is_object();
    for (const auto& [key, bias] : biases->items()) {
        if (named ? !is_bias(bias) : !is_biased(bias)) {
            const auto entry = "logit_bias[" + (named ? excerpt(key) : key) + "]"; // a key is any text
            const char* must =
                named ? "a number from -100 to 100, or false" : "[token, number from -100 to 100]";
            body.refuse(entry.c_str(), bias, must);
        }
    }
}

void check_samplers(const Fields& body) {
    const Json* samplers = body.find("samplers");
    if (samplers == nullptr) {
        return;
    }
    if (samplers->is_string()) {
        if (samplers->get_ref<const std::string&>().size() > kMostSamplers) {
            body.refuse("samplers", *samplers, "at most 32 letters");
        }
        return;
    }
    check_strings(body, "samplers", kMostSamplers, kLongestBreaker);
}

void check_string(const Fields& body, const char* key, std::size_t longest) {
    const Json* text = body.find(key);
    if (text != nullptr && (!text->is_string() || text->get_ref<const std::string&>().size() > longest)) {
        body.refuse(key, *text, "a string of at most " + std::to_string(longest) + " bytes");
    }
}

void check_one_of(const Fields& body, const char* key, std::initializer_list<const char*> allowed) {
    const Json* value = body.find(key);
    if (value == nullptr) {
        return;
    }
    std::string what;
    for (const char* one : allowed) {
        if (*value == one) {
            return;
        }
        what += (what.empty() ? "\"" : ", \"") + std::string(one) + "\"";
    }
    body.refuse(key, *value, "one of " + what);
}

void check_schema(const Fields& owner, const char* key) {
    const Json* schema = owner.find(key);
    if (schema != nullptr && !schema->is_object() && !schema->is_boolean()) {
        owner.refuse(key, *schema, "a JSON schema");
    }
}

bool check_response_format(const Fields& body) {
    const Json* format = body.find("response_format");
    if (format == nullptr) {
        return false;
    }
    if (!format->is_object()) {
        body.refuse("response_format", *format, "a JSON object");
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
    for (const auto& [key, least, most] : kNumbers) {
        body.number(key, least, most);
    }
    for (const auto& [key, least, most] : kIntegers) {
        body.integer(key, least, most);
    }
    body.boolean("ignore_eos");
    body.boolean("cache_prompt");
    check_strings(body, "dry_sequence_breakers", kMostBreakers, kLongestBreaker);
    check_samplers(body);
    check_biases(body);
    check_one_of(body, "context_overflow", {"truncate", "shift", "error"});
}

// At most one thing may say what form an answer has.
std::string check_form(const Fields& body) {
    constexpr std::size_t kLongestGrammar = 256 * 1024;
    check_string(body, "grammar", kLongestGrammar);
    check_schema(body, "json_schema");
    std::vector<std::string> forms;
    if (check_response_format(body)) {
        forms.emplace_back("response_format");
    }
    const Json* tools = body.find("tools");
    const Json* choice = body.find("tool_choice");
    if (tools != nullptr && !tools->empty() && (choice == nullptr || *choice != "none")) {
        forms.emplace_back("tools");
    }
    for (const char* key : {"grammar", "json_schema"}) {
        if (body.find(key) != nullptr) {
            forms.emplace_back(key);
        }
    }
    if (forms.size() > 1) {
        throw Error(
            SOTTO_ERROR_ARGUMENT,
            forms[0] + " and " + forms[1] + " each say what form the answer has; leave out one of them"
        );
    }
    return forms.empty() ? "" : forms.front();
}

void check_thinking(const Fields& body) {
    constexpr std::size_t kLongestMessage = 4096;
    body.integer("reasoning_budget_tokens", -1, INT32_MAX);
    check_string(body, "reasoning_budget_message", kLongestMessage);
    check_one_of(body, "reasoning_format", {"none", "auto", "deepseek"});
    check_one_of(body, "reasoning_effort", {"none", "minimal", "low", "medium", "high", "xhigh"});
    const Json* more = body.find("chat_template_kwargs");
    if (more == nullptr) {
        return;
    }
    if (!more->is_object()) {
        body.refuse("chat_template_kwargs", *more, "a JSON object");
    }
    constexpr std::size_t kMostFields = 256;
    constexpr std::size_t kMostBytes =
        64 * 1024; // backends read them into objects that are searched field by field
    const auto bytes = to_text(*more).size();
    if (more->size() > kMostFields || bytes > kMostBytes) {
        throw Error(
            SOTTO_ERROR_ARGUMENT,
            "invalid chat_template_kwargs '" + std::to_string(more->size()) + " fields, " +
                std::to_string(bytes) + " bytes': expected at most " + std::to_string(kMostFields) +
                " fields and " + std::to_string(kMostBytes) +
                " bytes; leave out what the template does not use"
        );
    }
    Fields(*more, "chat_template_kwargs").boolean("enable_thinking");
}

} // namespace sotto
