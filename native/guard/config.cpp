#include "guard/config.hpp"

#include "guard/config_fields.hpp"
#include "guard/config_models.hpp"
#include "guard/phrase_checker.hpp"
#include "guard/regex_checker.hpp"
#include "guard/unicode.hpp"
#include "text/json_reader.hpp"

namespace sotto::guard {
namespace {

constexpr const char* kStageNames[kStages] = {"input", "output", "image_prompt"};

// What one configuration holds so far.
struct Counts {
    std::size_t phrases = 0;
    std::size_t expressions = 0;
    std::size_t program = 250'000; // instructions that further expressions may compile to: about a second
};

std::u32string read_letters(const Fields& fields) {
    std::u32string letters;
    const auto* text = text_of(fields, "letters", 1024);
    for (std::size_t i = 0; text != nullptr && i < text->size();) {
        letters.push_back(next_character(*text, i));
    }
    return letters;
}

std::unique_ptr<TextChecker> read_phrases(const Fields& fields, Counts& counts) {
    auto checker =
        std::make_unique<PhraseChecker>(read_letters(fields), fields.boolean("whole_words").value_or(true));
    const auto add = [&](bool allowed) {
        return [&, allowed](const std::string& phrase, const std::string& path, const Json& value) {
            count(counts.phrases, kMaxPhrases, path);
            if (!checker->add(phrase, allowed)) {
                refuse(
                    path, value, "a phrase of 1 to " + std::to_string(PhraseChecker::kMaxLetters) + " letters"
                );
            }
        };
    };
    fields.require("phrases", "a list of strings");
    each_text(fields, "phrases", add(false));
    each_text(fields, "allow", add(true));
    checker->build();
    return checker;
}

std::unique_ptr<TextChecker> read_expressions(const Fields& fields, Counts& counts) {
    auto checker = std::make_unique<RegexChecker>();
    const bool ignore_case = fields.boolean("ignore_case").value_or(true);
    const auto add = [&](bool allowed) {
        return [&, allowed](const std::string& pattern, const std::string& path, const Json& value) {
            count(counts.expressions, kMaxExpressions, path);
            if (pattern.size() > kMaxExpression) {
                refuse(
                    path,
                    value,
                    "an expression of at most " + std::to_string(kMaxExpression) + " bytes, not " +
                        std::to_string(pattern.size())
                );
            }
            if (const auto reason = checker->add(pattern, ignore_case, allowed, counts.program);
                !reason.empty()) {
                refuse(path, value, "an expression of RE2; " + reason);
            }
        };
    };
    fields.require("patterns", "a list of regular expressions");
    each_text(fields, "patterns", add(false));
    each_text(fields, "allow", add(true));
    return checker;
}

void read_action(const Fields& fields, Rule& rule) {
    rule.action = action_of(fields);
    const auto* replacement = text_of(fields, "replacement", 4096);
    const auto* mask = text_of(fields, "mask", 4, "one character");
    rule.masked = replacement == nullptr;
    rule.replacement = replacement != nullptr ? *replacement : mask != nullptr ? *mask : "*";
    if (replacement != nullptr && mask != nullptr) {
        fields.refuse("mask", *fields.find("mask"), "either mask or replacement");
    }
    std::size_t end = 0;
    if (mask != nullptr && (mask->empty() || (next_character(*mask, end), end != mask->size()))) {
        fields.refuse("mask", *fields.find("mask"), "one character");
    }
    for (const auto* name : {"replacement", "mask"}) {
        check_rewrites(fields, name, rule.action);
    }
}

Rule read_rule(const Json& object, const std::string& path, const Json& type, Counts& counts) {
    const Fields fields(object, path);
    Rule rule;
    const bool phrases = type == "phrases";
    if (phrases) {
        check_names(
            object,
            path,
            {"type",
             "name",
             "category",
             "reason",
             "action",
             "replacement",
             "mask",
             "phrases",
             "allow",
             "letters",
             "whole_words"}
        );
    } else {
        check_names(
            object,
            path,
            {"type",
             "name",
             "category",
             "reason",
             "action",
             "replacement",
             "mask",
             "patterns",
             "allow",
             "ignore_case"}
        );
    }
    const auto take = [&](const char* name, std::string otherwise) {
        const auto* text = text_of(fields, name, 1024);
        return text != nullptr ? *text : std::move(otherwise);
    };
    rule.name = take("name", phrases ? "keyword" : "regex");
    rule.category = take("category", "");
    rule.reason = take("reason", (rule.category.empty() ? "blocked text" : rule.category) + " detected");
    read_action(fields, rule);
    rule.checker = phrases ? read_phrases(fields, counts) : read_expressions(fields, counts);
    return rule;
}

// Reads one checker of a stage.
void read_checker(const Json& object, const std::string& path, StageRules& rules, Counts& counts) {
    constexpr const char* kTypes = R"("phrases", "regex", "topics" or "judge")";
    if (!object.is_object()) {
        refuse(path, object, "an object");
    }
    const Fields fields(object, path);
    const auto& type = fields.require("type", kTypes);
    if (type == "phrases" || type == "regex") {
        rules.texts.push_back(read_rule(object, path, type, counts));
    } else if (type == "topics" || type == "judge") {
        rules.models.push_back(type == "judge" ? read_judge(object, path) : read_topics(object, path));
    } else {
        fields.refuse("type", type, kTypes);
    }
}

} // namespace

std::array<StageRules, kStages> read_config(std::string_view config) {
    if (config.size() > kMaxConfig) {
        throw Error(
            SOTTO_ERROR_ARGUMENT,
            "invalid config '" + std::to_string(config.size()) + " bytes': expected at most " +
                std::to_string(kMaxConfig) + " bytes"
        );
    }
    const auto object = parse_object(config, "config");
    check_names(object, "config", {kStageNames[0], kStageNames[1], kStageNames[2]});
    std::array<StageRules, kStages> stages;
    Counts counts;
    for (std::size_t stage = 0; stage < kStages; ++stage) {
        const Fields fields(object, "");
        const auto* list = fields.find(kStageNames[stage]);
        if (list == nullptr) {
            continue;
        }
        if (!list->is_array() || list->size() > kMaxRules) {
            fields.refuse(
                kStageNames[stage], *list, "a list of at most " + std::to_string(kMaxRules) + " checkers"
            );
        }
        for (std::size_t i = 0; i < list->size(); ++i) {
            read_checker((*list)[i], at(kStageNames[stage], i), stages[stage], counts);
        }
    }
    return stages;
}

} // namespace sotto::guard
