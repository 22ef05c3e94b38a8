#include "core/schedule/compute_account.hpp"

#include <algorithm>
#include <utility>

namespace sotto {
namespace {

// ns; how far the compute time of a group may lag behind that of the group served most.
constexpr std::int64_t kMaxOwed = 200'000'000;
// ns of compute time that a group gets per turn; long, so that switching adapters costs little.
constexpr std::int64_t kTurn = 50'000'000;

} // namespace

void ComputeAccount::reset(std::int64_t served_ns) noexcept {
    charged_ns_ = served_ns;
    processed_ = {};
}

void ComputeAccount::enter(std::uint64_t group) noexcept {
    auto found = std::ranges::find(groups_, group, &Group::name);
    if (found == groups_.end()) {
        const auto least = std::ranges::min_element(groups_, {}, &Group::served_ns);
        const auto served = groups_.empty() ? 0 : least->served_ns;
        groups_.push_back({.name = group, .streams = 0, .processed = 0, .served_ns = served});
        found = groups_.end() - 1;
    }
    ++found->streams;
}

void ComputeAccount::leave(std::uint64_t group, std::int64_t served_ns, FairShare& share) noexcept {
    const auto found = std::ranges::find(groups_, group, &Group::name);
    if (--found->streams == 0) {
        charge(served_ns, share);
        groups_.erase(found);
    }
}

void ComputeAccount::add(sotto_priority priority, std::uint64_t group, std::uint32_t tokens) noexcept {
    processed_[index_of(priority)] += tokens;
    std::ranges::find(groups_, group, &Group::name)->processed += tokens;
}

void ComputeAccount::charge(std::int64_t served_ns, FairShare& share) noexcept {
    const auto took = served_ns - std::exchange(charged_ns_, served_ns);
    const auto processed = std::exchange(processed_, {});
    std::uint64_t all = 0;
    for (const auto tokens : processed) {
        all += tokens;
    }
    const auto part_of = [&](std::uint64_t tokens) {
        const auto part = static_cast<double>(tokens) / static_cast<double>(all);
        return static_cast<std::int64_t>(part * static_cast<double>(took));
    };
    for (std::size_t i = 0; all > 0 && took > 0 && i < kPriorities; ++i) {
        share.spent(
            static_cast<sotto_priority>(static_cast<int>(i) + SOTTO_PRIORITY_BACKGROUND),
            part_of(processed[i])
        );
    }
    std::int64_t most = 0;
    for (auto& group : groups_) {
        const auto tokens = std::exchange(group.processed, 0);
        group.served_ns += all > 0 && took > 0 ? part_of(tokens) : 0;
        most = std::max(most, group.served_ns);
    }
    for (auto& group : groups_) { // limits the credit of groups that were idle
        group.served_ns = std::max(group.served_ns, most - kMaxOwed);
    }
}

std::int64_t ComputeAccount::turns(std::uint64_t group) const noexcept {
    return groups_.size() < 2 ? 0 : std::ranges::find(groups_, group, &Group::name)->served_ns / kTurn;
}

} // namespace sotto
