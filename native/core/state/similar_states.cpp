#include "core/state/similar_states.hpp"

#include <algorithm>
#include <utility>

namespace sotto {
namespace {

constexpr std::size_t kAlike = 256; // bytes: the minimum common prefix, 64 tokens of 4 bytes
constexpr std::size_t kMaxWhole = 8;

} // namespace

std::shared_ptr<KvStateEntry> SimilarStates::find(std::string_view whose, std::string_view head) const {
    std::shared_ptr<KvStateEntry> found;
    std::size_t most = kAlike - 1;
    for (const auto& one : whole_) {
        const auto common =
            static_cast<std::size_t>(std::ranges::mismatch(one.head, head).in1 - one.head.begin());
        if (one.whose == whose && common > most) {
            if (auto there = one.entry.lock()) {
                found = std::move(there);
                most = common;
            }
        }
    }
    return found;
}

void SimilarStates::add(std::string whose, std::string head, std::weak_ptr<KvStateEntry> entry) {
    std::erase_if(whole_, [](const Whole& one) { return one.entry.expired(); });
    whole_.push_back({std::move(whose), std::move(head), std::move(entry)});
    whole_.erase(whole_.begin(), whole_.end() - std::min(whole_.size(), kMaxWhole));
}

} // namespace sotto
