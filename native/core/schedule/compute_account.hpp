// Accounts for the compute time of one model, by priority and adapter group.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/schedule/fair_share.hpp"

namespace sotto {

// Charges a model's compute time to priorities and to groups, in proportion to the tokens processed for each.
// A group is the streams of a model with the same adapters; a step serves one group only. Group 0: streams
// without adapters.
class ComputeAccount {
public:
    // Allocates memory, so that the next enter() cannot fail.
    void reserve() { groups_.reserve(groups_.size() + 1); }
    // Discards uncharged compute time: the next charge() starts at the model's total `served_ns`.
    void reset(std::int64_t served_ns) noexcept;

    // Adds a stream of a group. A new group starts with the lowest compute time of the existing groups, so
    // that it gets no credit for the time before.
    void enter(std::uint64_t group) noexcept;
    // Removes a stream of a group. If it is the group's last stream, first charges the compute time since the
    // last charge(), then removes the group. `served_ns` and `share`: as in charge().
    void leave(std::uint64_t group, std::int64_t served_ns, FairShare& share) noexcept;

    // Records `tokens` processed for a stream of that priority and group.
    void add(sotto_priority priority, std::uint64_t group, std::uint32_t tokens) noexcept;
    // Charges the compute time since the last call to the groups and, in `share`, to the priorities.
    // `served_ns`: total compute time of the model.
    void charge(std::int64_t served_ns, FairShare& share) noexcept;

    // Returns the compute time of a group in whole turns of 50 ms; 0 if it is the only group.
    std::int64_t turns(std::uint64_t group) const noexcept;

private:
    struct Group {
        std::uint64_t name = 0;
        std::uint32_t streams = 0;   // waiting, or with a slot
        std::uint64_t processed = 0; // uncharged tokens
        std::int64_t served_ns = 0;  // compute time
    };

    std::vector<Group> groups_;                          // groups with streams
    std::array<std::uint64_t, kPriorities> processed_{}; // uncharged tokens, by priority
    std::int64_t charged_ns_ = 0;
};

} // namespace sotto
