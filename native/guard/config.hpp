// Reads the configuration of guardrails.
#pragma once

#include <array>
#include <string_view>

#include "guard/guard.hpp"

namespace sotto::guard {

constexpr std::size_t kMaxConfig = std::size_t{64} << 20;
constexpr std::size_t kMaxPhrases = 1'000'000; // of one configuration, exceptions included
constexpr std::size_t kMaxExpressions = 1'000;
constexpr std::size_t kMaxExpression = 16'384; // bytes
constexpr std::size_t kMaxRules = 64;          // of a stage

// Throws Error(SOTTO_ERROR_ARGUMENT) that names the JSON path.
std::array<StageRules, kStages> read_config(std::string_view config);

} // namespace sotto::guard
