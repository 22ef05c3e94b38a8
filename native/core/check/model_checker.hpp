// Checks one text with one checker that needs a model, by requests to that model.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <sotto/request.h>

#include "core/check/topic_vectors.hpp"
#include "guard/model_rule.hpp"

namespace sotto {

// What a checker objects to.
struct Objection {
    std::string topic;           // empty: a judge objects
    std::optional<double> score; // 0 to 1
};

// Control thread only.
class ModelChecker {
public:
    virtual ~ModelChecker() = default;

    virtual sotto_op op() const noexcept = 0;
    // Returns the body of the next request; empty: the check is complete.
    virtual std::string next_request() = 0;
    // Takes the response to that request. Throws Error(SOTTO_ERROR_INFERENCE) if the response is unusable.
    virtual void take(std::string_view response) = 0;
    // Once the check is complete: the objection, or nothing.
    virtual const std::optional<Objection>& objection() const noexcept = 0;
};

// Returns the checker of a rule. `rule`, `text` and `cache` must outlive it. `model`: number of the loaded
// model.
std::unique_ptr<ModelChecker> checker_of(
    const guard::ModelRule& rule, const std::string& text, TopicVectorCache& cache, std::uint64_t model
);

} // namespace sotto
