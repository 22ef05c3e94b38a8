// The fields that a request's body may have, and those that it has by mistake.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "core/codec_checks.hpp"

namespace sotto {
namespace {

// Of all operations. docs/pages/reference/requests.md describes each.
constexpr std::string_view kKnown[] = {
    "add_generation_prompt",
    "add_special",
    "cache_prompt",
    "chat_template_kwargs",
    "content",
    "context_overflow",
    "continue_final_message",
    "dry_allowed_length",
    "dry_base",
    "dry_multiplier",
    "dry_penalty_last_n",
    "dry_sequence_breakers",
    "dynatemp_exponent",
    "dynatemp_range",
    "echo",
    "frequency_penalty",
    "from",
    "grammar",
    "ignore_eos",
    "input_extra",
    "input_prefix",
    "input_suffix",
    "json_schema",
    "keep",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "min_keep",
    "min_p",
    "mirostat",
    "mirostat_eta",
    "mirostat_tau",
    "model",
    "n",
    "n_keep",
    "n_probs",
    "on_budget",
    "parallel_tool_calls",
    "parse_special",
    "path",
    "pinned",
    "presence_penalty",
    "prompt",
    "reasoning_budget_message",
    "reasoning_budget_tokens",
    "reasoning_effort",
    "reasoning_format",
    "repeat_last_n",
    "repeat_penalty",
    "response_format",
    "samplers",
    "seed",
    "session",
    "special",
    "stop",
    "stream",
    "stream_options",
    "suffix",
    "system",
    "temperature",
    "tokens",
    "tool_choice",
    "tools",
    "top_k",
    "top_logprobs",
    "top_n_sigma",
    "top_p",
    "typical_p",
    "with_pieces",
    "xtc_probability",
    "xtc_threshold",
};

// Fields of other servers that are a letter or two from one of ours.
constexpr std::string_view kOfOthers[] = {
    "context", "format", "min_tokens", "seeds", "top_a", "typical", "user"
};

constexpr std::uint32_t bit(sotto_op op) noexcept {
    return std::uint32_t{1} << op;
}

// Fields of some operations alone; others ignore them.
struct Limited {
    std::string_view name;
    std::uint32_t ops;
};
constexpr Limited kLimited[] = {
    {"add_special", bit(SOTTO_OP_TOKENIZE)},
    {"content", bit(SOTTO_OP_TOKENIZE)},
    {"echo", bit(SOTTO_OP_COMPLETION)},
    {"from", bit(SOTTO_OP_OPEN_SESSION)},
    {"input_extra", bit(SOTTO_OP_INFILL)},
    {"input_prefix", bit(SOTTO_OP_INFILL)},
    {"input_suffix", bit(SOTTO_OP_INFILL)},
    {"keep", bit(SOTTO_OP_OPEN_SESSION)},
    {"parse_special", bit(SOTTO_OP_TOKENIZE)},
    {"path", bit(SOTTO_OP_SAVE_STATE) | bit(SOTTO_OP_RESTORE_STATE)},
    {"pinned", bit(SOTTO_OP_OPEN_SESSION) | bit(SOTTO_OP_CHANGE_SESSION)},
    {"special", bit(SOTTO_OP_DETOKENIZE)},
    {"suffix", bit(SOTTO_OP_COMPLETION)},
    {"system", bit(SOTTO_OP_OPEN_SESSION) | bit(SOTTO_OP_CHANGE_SESSION)},
    {"tokens", bit(SOTTO_OP_DETOKENIZE)},
    {"with_pieces", bit(SOTTO_OP_TOKENIZE)},
};

constexpr std::size_t kLongestField = 40;
constexpr std::size_t kMaxCompared = 256; // unknown fields of a body
constexpr std::size_t kMaxListed = 16;

// Insertions, deletions, substitutions and swaps of neighbours that turn one name into the other; more than
// `max` is max + 1. Optimal string alignment, by Damerau (1964).
std::size_t distance(std::string_view left, std::string_view right, std::size_t max) {
    const auto longer = std::max(left.size(), right.size());
    const auto shorter = std::min(left.size(), right.size());
    if (longer - shorter > max || longer > kLongestField) {
        return max + 1;
    }
    using Row = std::array<std::size_t, kLongestField + 1>;
    Row before{}, last{}, row{};
    for (std::size_t j = 0; j <= right.size(); ++j) {
        last[j] = j;
    }
    for (std::size_t i = 1; i <= left.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= right.size(); ++j) {
            const std::size_t differs = left[i - 1] == right[j - 1] ? 0 : 1;
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + differs});
            if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1]) {
                row[j] = std::min(row[j], before[j - 2] + 1);
            }
        }
        before = last;
        last = row;
    }
    return std::min(last[right.size()], max + 1);
}

bool is_in(std::string_view name, const auto& names) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// Whether an operation ignores a known field.
bool ignores(sotto_op op, std::string_view name) {
    const auto* found = std::find_if(std::begin(kLimited), std::end(kLimited), [&](const Limited& one) {
        return one.name == name;
    });
    return found != std::end(kLimited) && (found->ops & bit(op)) == 0;
}

// The known fields nearest to `name` that the body lacks, each in quotes; empty where none is near.
std::string nearest(const Json& body, std::string_view name) {
    constexpr std::size_t kShort = 5; // letters: two edits of such a name make another word
    std::string found;
    std::size_t least = 2;
    for (const auto known : kKnown) {
        const std::size_t max = known.size() <= kShort ? 1 : 2;
        const auto edits = distance(name, known, max);
        if (edits > std::min(max, least) || body.contains(known)) {
            continue;
        }
        if (edits < least) {
            least = edits;
            found.clear();
        }
        found += (found.empty() ? "\"" : " or \"") + std::string(known) + "\"";
    }
    return found;
}

} // namespace

std::vector<std::string> check_names(sotto_op op, const Json& body) {
    std::vector<std::string> unknown;
    std::size_t compared = 0;
    for (const auto& [name, value] : body.items()) {
        const bool known = is_in(name, kKnown);
        if (known && !ignores(op, name)) {
            continue;
        }
        if (!known && !is_in(name, kOfOthers) && compared++ < kMaxCompared) {
            if (const auto meant = nearest(body, name); !meant.empty()) {
                throw Error(
                    SOTTO_ERROR_ARGUMENT, "unknown field \"" + name + "\": did you mean " + meant + "?"
                );
            }
        }
        if (unknown.size() < kMaxListed) {
            unknown.push_back(name.substr(0, kLongestField));
        }
    }
    return unknown;
}

} // namespace sotto
