// A checker that needs models: it compares meanings with topics, or asks a language model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "guard/verdict.hpp"

namespace sotto::guard {

// A subject, given by sentences about it.
struct Topic {
    std::string name;
    std::vector<std::string> examples;
};

// What a check does if the checker's model fails, or is not loaded.
enum class OnError : std::uint8_t { fail, block, allow };

// Immutable once read. What the checker does with a text is in core/check.
struct ModelRule {
    std::string path; // in the configuration, such as "input[1]"
    std::string name;
    std::string category; // empty: of topics, the name of the topic
    std::string reason;   // empty: the category and "detected"
    Action action = Action::block;
    std::string replacement; // of the whole text, if the action is to rewrite
    OnError on_error = OnError::fail;
    std::string model;
    std::vector<Topic> topics; // empty: the model judges
    double threshold = 0;      // minimum cosine between a text and an example
    std::string instruction;   // of a judge

    bool is_judge() const noexcept { return topics.empty(); }
};

// Returns the verdict of a rule that objects to `text`. `topic`: name of the topic that was found; of a
// judge, empty.
Verdict verdict_of(
    const ModelRule& rule, const std::string& text, const std::string& topic, std::optional<double> score
);

} // namespace sotto::guard
