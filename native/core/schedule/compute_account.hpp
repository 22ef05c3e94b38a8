// The compute time of one model, by who used it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/schedule/fair_share.hpp"

namespace sotto {

// Charges a model's compute time to priorities and to groups, by the tokens that were processed for each. A
// group is the streams of a model with the same adapters, which alone may go into one step; group 0 has no
// adapters.
class ComputeAccount {
public:
    // Allocates what the next enter() needs.
    void reserve() { groups_.reserve(groups_.size() + 1); }
    // Forgets what was not charged, and charges from `served_ns` on.
    void reset(std::int64_t served_ns) noexcept;

    // A stream of the group came. A group that had no streams is not owed the time that others had meanwhile.
    void enter(std::uint64_t group) noexcept;
    // A stream of the group went. Charges first if the group has no other.
    void leave(std::uint64_t group, std::int64_t served_ns, FairShare& share) noexcept;

    // So many tokens were processed for a stream of that priority and group.
    void add(sotto_priority priority, std::uint64_t group, std::uint32_t tokens) noexcept;
    // Charges the compute time since the last call. `served_ns`: all that the model had so far.
    void charge(std::int64_t served_ns, FairShare& share) noexcept;

    // How many whole turns of compute time a group had; 0 if it is the only group.
    std::int64_t turns(std::uint64_t group) const noexcept;

private:
    struct Group {
        std::uint64_t name = 0;
        std::uint32_t streams = 0;   // that wait or have a slot
        std::uint64_t processed = 0; // tokens that were not charged yet
        std::int64_t served_ns = 0;  // of compute
    };

    std::vector<Group> groups_;                          // that have streams
    std::array<std::uint64_t, kPriorities> processed_{}; // tokens that were not charged yet, by priority
    std::int64_t charged_ns_ = 0;
};

} // namespace sotto
