// The checkers of a configuration, and the check of a whole text.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "guard/checker.hpp"
#include "guard/model_rule.hpp"
#include "guard/verdict.hpp"

namespace sotto::guard {

enum class Stage { input, output, image_prompt };
constexpr std::size_t kStages = 3;

// A checker, and what is done with its findings.
struct Rule {
    std::string name;
    std::string category;
    std::string reason;
    Action action = Action::block;
    bool masked = true; // rewrites each letter to `replacement`, instead of each finding
    std::string replacement;
    std::unique_ptr<const TextChecker> checker;

    // Returns the text that takes the place of a finding.
    std::string rewritten(std::string_view finding) const;
};

using Chain = std::vector<Rule>;

// The checkers of a stage. Those that need models come after all others.
struct StageRules {
    Chain texts;
    std::vector<ModelRule> models;
};

// Immutable. Any thread may use it.
class Guard {
public:
    // `config`: JSON, see sotto/guard.h. Throws Error(SOTTO_ERROR_ARGUMENT) that names the JSON path.
    explicit Guard(std::string_view config);

    // Checkers that need no model.
    const Chain& chain(Stage stage) const noexcept { return of(stage).texts; }
    // Checkers that need models.
    const std::vector<ModelRule>& model_rules(Stage stage) const noexcept { return of(stage).models; }
    bool is_empty(Stage stage) const noexcept { return of(stage).texts.empty() && of(stage).models.empty(); }
    // Checks well-formed UTF-8 with the checkers that need no model. A text that a checker rewrites goes on
    // to the next one as rewritten.
    Verdict check(Stage stage, std::string_view text) const;

private:
    const StageRules& of(Stage stage) const noexcept { return stages_[static_cast<std::size_t>(stage)]; }

    std::array<StageRules, kStages> stages_;
};

// Adds what a rule decided to a verdict: the first rule that rewrites names the verdict, one that blocks
// takes its place.
void decide(Verdict& verdict, const Rule& rule);

} // namespace sotto::guard
