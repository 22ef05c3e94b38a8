// Reads checkers of the types "topics" and "judge".
#pragma once

#include <string>

#include "guard/model_rule.hpp"
#include "text/json_reader.hpp"

namespace sotto::guard {

constexpr std::size_t kMaxExamples = 1'000;     // of one checker
constexpr std::size_t kMaxExampleBytes = 1'024; // of one example
constexpr std::size_t kMaxInstruction = 16'384; // bytes

// Throws Error(SOTTO_ERROR_ARGUMENT) that names the JSON path.
ModelRule read_topics(const Json& object, const std::string& path);
ModelRule read_judge(const Json& object, const std::string& path);

} // namespace sotto::guard
