// In which order states leave memory, and what they are packed with.
#include <doctest/doctest.h>

#include "core/state/similar_states.hpp"
#include "core/state/spill_order.hpp"

using sotto::KvStateEntry;
using sotto::SimilarStates;
using sotto::SpillOrder;

namespace {

std::shared_ptr<KvStateEntry> entry(std::uint64_t number, std::size_t head = 0) {
    auto made = std::make_shared<KvStateEntry>();
    made->number = number;
    made->head = head;
    return made;
}

} // namespace

TEST_CASE("the oldest state is spilled first, and pinned ones last") {
    SpillOrder order;
    const auto first = entry(1);
    const auto second = entry(2);
    order.add(*second);
    order.add(*first);
    order.pin(*first, true);
    CHECK(order.has_unpinned());
    CHECK(order.next_to_spill(false) == second);
    CHECK(second->moving);
    CHECK(order.next_to_spill(false) == nullptr); // it is being written
    CHECK(order.next_to_spill(true) == first);
    order.remove(*second);
    CHECK_FALSE(order.has_unpinned());
    order.pin(*first, false);
    CHECK(order.has_unpinned());
    order.remove(*first);
    CHECK_FALSE(order.has_unpinned());
}

TEST_CASE("states are packed once, the oldest first, and not those that are to stay apart") {
    SpillOrder order;
    const auto first = entry(1);
    const auto apart = entry(2, KvStateEntry::kApart);
    auto third = entry(3);
    const auto fourth = entry(4);
    for (const auto& one : {fourth, third, apart, first}) {
        order.add(*one);
    }
    CHECK(order.next_to_pack() == first);
    order.remove(*third);
    CHECK(order.next_to_pack() == fourth);
    CHECK_FALSE(order.has_unpacked());
    CHECK(order.next_to_pack() == nullptr);
    CHECK(order.next_to_spill(false) == first);
}

TEST_CASE("a state is found by how it begins, among those of its model") {
    SimilarStates states;
    const std::string same(512, 'a');
    const auto first = entry(1);
    const auto second = entry(2);
    states.add("npc", same + "xxxx", first);
    states.add("npc", same + "yyyy", second);
    CHECK(states.find("npc", same + "yyzz") == second);
    CHECK(states.find("npc", same + "xxzz") == first);
    CHECK(states.find("other", same) == nullptr);
    CHECK(states.find("npc", std::string(255, 'a')) == nullptr); // too little
}

TEST_CASE("states that are gone are not found, and only the latest eight are compared") {
    SimilarStates states;
    const std::string same(512, 'a');
    auto gone = entry(1);
    states.add("npc", same, gone);
    gone.reset();
    CHECK(states.find("npc", same) == nullptr);
    std::vector<std::shared_ptr<KvStateEntry>> all;
    for (std::uint64_t i = 0; i < 9; ++i) {
        all.push_back(entry(i));
        states.add("npc", std::string(512, static_cast<char>('a' + i)), all.back());
    }
    CHECK(states.find("npc", std::string(512, 'a')) == nullptr);
    CHECK(states.find("npc", std::string(512, 'b')) == all[1]);
}
