// Checks the number of members of an object in a JSON schema, and dependencies between members.
#include "grammar/schema/schema_parts.hpp"

#include <algorithm>

namespace sotto::llama {

void check_counts(
    const Schema& schema, const Schema& members, const Schema& required, bool open, const std::string& path
) {
    const auto min = schema.value("minProperties", std::uint64_t{0});
    const auto max = schema.value("maxProperties", UINT64_MAX);
    if (min > required.size()) {
        unsupported_schema(
            below(path, "minProperties"),
            min,
            "at most " + std::to_string(required.size()) +
                ", the number of \"required\" members; add names to \"required\""
        );
    }
    if (open ? max != UINT64_MAX : max < members.size()) {
        unsupported_schema(
            below(path, "maxProperties"),
            max,
            open ? "\"additionalProperties\" false beside it"
                 : "at least " + std::to_string(members.size()) + ", the number of \"properties\""
        );
    }
    const auto dependent = schema.value("dependentRequired", Schema::object());
    for (const auto& [name, needed] : dependent.items()) {
        for (const auto& one : needed) {
            const bool there = std::find(required.begin(), required.end(), one) != required.end();
            if (!there && (open || members.contains(name))) {
                unsupported_schema(
                    below(below(path, "dependentRequired"), name),
                    "not supported; write an \"anyOf\" with one schema per case"
                );
            }
        }
    }
}

} // namespace sotto::llama
