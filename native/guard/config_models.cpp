#include "guard/config_models.hpp"

#include "guard/config_fields.hpp"

namespace sotto::guard {
namespace {

constexpr std::size_t kMaxText = 1'024; // bytes of names and reasons

const std::string& required_text(const Fields& fields, const char* name, std::size_t most) {
    fields.require(name, "a string");
    const auto* text = text_of(fields, name, most);
    if (text->empty()) {
        fields.refuse(name, *fields.find(name), "a string that is not empty");
    }
    return *text;
}

OnError on_error_of(const Fields& fields) {
    const auto* value = fields.find("on_error");
    if (value == nullptr || *value == "fail") {
        return OnError::fail;
    }
    if (*value != "block" && *value != "allow") {
        fields.refuse("on_error", *value, R"("fail", "block" or "allow")");
    }
    return *value == "block" ? OnError::block : OnError::allow;
}

ModelRule read_common(const Fields& fields, const std::string& path, const char* name) {
    const auto take = [&](const char* field, const char* otherwise) {
        const auto* text = text_of(fields, field, kMaxText);
        return text != nullptr ? *text : std::string(otherwise);
    };
    ModelRule rule;
    rule.path = path;
    rule.name = take("name", name);
    rule.category = take("category", "");
    rule.reason = take("reason", "");
    rule.action = action_of(fields);
    rule.on_error = on_error_of(fields);
    rule.model = required_text(fields, "model", kMaxText);
    check_rewrites(fields, "replacement", rule.action);
    if (rule.action == Action::rewrite) {
        fields.require("replacement", "a string, which takes the place of the whole text");
        rule.replacement = *text_of(fields, "replacement", 4 * kMaxText);
    }
    return rule;
}

Topic read_topic(
    const std::string& name, const Json& examples, const std::string& path, std::size_t& counted
) {
    Topic topic{name, {}};
    each_text_of(examples, path, [&](const std::string& text, const std::string& where, const Json& value) {
        count(counted, kMaxExamples, where);
        if (text.find_first_not_of(" \t\r\n") == text.npos || text.size() > kMaxExampleBytes) {
            refuse(where, value, "a sentence of 1 to " + std::to_string(kMaxExampleBytes) + " bytes");
        }
        topic.examples.push_back(text);
    });
    if (topic.examples.empty()) {
        refuse(path, examples, "at least one sentence about the topic");
    }
    return topic;
}

} // namespace

ModelRule read_topics(const Json& object, const std::string& path) {
    constexpr const char* kExpected = "an object of topics: a list of sentences under the name of each";
    constexpr const char* kThreshold = "a number above 0, at most 1";
    check_names(
        object,
        path,
        {"type",
         "name",
         "category",
         "reason",
         "action",
         "replacement",
         "on_error",
         "model",
         "topics",
         "threshold"}
    );
    const Fields fields(object, path);
    auto rule = read_common(fields, path, "topics");
    const auto& topics = fields.require("topics", kExpected);
    if (!topics.is_object() || topics.empty()) {
        fields.refuse("topics", topics, kExpected);
    }
    std::size_t examples = 0;
    for (const auto& [name, list] : topics.items()) {
        if (name.empty() || name.size() > kMaxText) {
            refuse(fields.path("topics"), name, "names of 1 to " + std::to_string(kMaxText) + " bytes");
        }
        rule.topics.push_back(read_topic(name, list, fields.path("topics") + "." + name, examples));
    }
    const auto& threshold = fields.require("threshold", kThreshold);
    rule.threshold = threshold.is_number() ? threshold.get<double>() : 0;
    if (!(rule.threshold > 0 && rule.threshold <= 1)) {
        fields.refuse("threshold", threshold, kThreshold);
    }
    return rule;
}

ModelRule read_judge(const Json& object, const std::string& path) {
    check_names(
        object,
        path,
        {"type", "name", "category", "reason", "action", "replacement", "on_error", "model", "instruction"}
    );
    const Fields fields(object, path);
    auto rule = read_common(fields, path, "judge");
    rule.instruction = required_text(fields, "instruction", kMaxInstruction);
    return rule;
}

} // namespace sotto::guard
