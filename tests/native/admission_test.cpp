// Which requests wait for their model's memory, and what becomes of them.
#include "core/control/admission.hpp"

#include <string>

#include <doctest/doctest.h>

#include "support/control_parts.hpp"

using sotto::ModelEntry;
using sotto::OnBudget;
using sotto::Slot;

namespace {

constexpr const char* kScript =
    R"({"tokens": ["a"], "weights": 10, "kv_per_place": 5, "compute": 1, "streams": 2, "parkable": true,
    "fingerprint": "{}", "gives": ["places"]})";

struct Admitting : test::ControlParts {
    ModelEntry& entry = open(kScript); // 21 bytes
    Slot& hold(OnBudget on_budget = OnBudget::wait) {
        auto& slot = all.chat("m");
        admission.hold(slot, entry, on_budget);
        return slot;
    }
};

} // namespace

TEST_CASE("requests wait for a model that is evicted or reloaded, and not for one that was never loaded") {
    Admitting one;
    CHECK_FALSE(one.admission.must_hold(one.entry));
    for (const auto state :
         {ModelEntry::State::evicting, ModelEntry::State::evicted, ModelEntry::State::loading}) {
        one.entry.state = state;
        CHECK(one.admission.must_hold(one.entry));
    }
    one.entry.loaded.max_slots = 0; // its first load
    CHECK_FALSE(one.admission.must_hold(one.entry));
    one.entry.state = ModelEntry::State::leaving;
    CHECK_FALSE(one.admission.must_hold(one.entry));
}

TEST_CASE("requests wait for a ready model that has no slots, or while the budget is exceeded") {
    Admitting one;
    one.entry.traits.streams = 0;
    CHECK(one.admission.must_hold(one.entry));
    one.entry.traits.streams = 1;
    CHECK_FALSE(one.admission.must_hold(one.entry));
    one.all.ledger.set_ceiling(21);
    CHECK_FALSE(one.admission.must_hold(one.entry));
    one.all.ledger.set_ceiling(20);
    CHECK(one.admission.must_hold(one.entry));
}

TEST_CASE("requests wait for a model that is about to lose all of its slots, but not for others") {
    Admitting one;
    const auto& other = one.open(kScript, "other");
    REQUIRE(one.resizer.resize(one.entry, 0));
    CHECK(one.admission.must_hold(one.entry));
    CHECK_FALSE(one.admission.must_hold(other));
    one.wait();
    REQUIRE(one.resizer.resize(one.entry, 1));
    CHECK_FALSE(one.admission.must_hold(one.entry));
    one.wait();
}

TEST_CASE("held requests are answered in order, once their model need not wait") {
    Admitting one;
    CHECK_FALSE(one.admission.admit(one.entry)); // none is held
    auto& first = one.hold();
    auto& second = one.hold();
    one.entry.traits.streams = 0;
    CHECK_FALSE(one.admission.admit(one.entry));
    CHECK(one.admitted.empty());
    one.entry.traits.streams = 2;
    CHECK(one.admission.admit(one.entry));
    CHECK(one.admitted == std::vector<Slot*>{&first, &second});
    CHECK(one.entry.requests.held.empty());
    CHECK_FALSE(one.admission.admit(one.entry));
}

TEST_CASE("a held request that cannot be answered then gets its own error, and the next is answered") {
    Admitting one;
    const auto first = one.hold().id.load();
    const auto second = one.hold().id.load();
    one.refuses = true;
    CHECK(one.admission.admit(one.entry));
    CHECK(one.all.done(first).error == "the test refuses");
    CHECK(one.admitted.empty());
    one.refuses = false;
    auto& third = one.hold();
    CHECK(one.admission.admit(one.entry));
    CHECK(one.admitted == std::vector<Slot*>{&third});
    CHECK(second != first);
}

TEST_CASE("a request that will not wait is refused if idle models cannot make room, and says why") {
    Admitting one;
    one.entry.state = ModelEntry::State::evicted;
    one.entry.claims = {};
    one.all.ledger.set_ceiling(15); // one slot needs 16
    CHECK_THROWS_WITH_AS(one.hold(OnBudget::fail), doctest::Contains("m needs "), sotto::Error);
    CHECK(one.entry.requests.held.empty());
    one.hold(OnBudget::wait);
    CHECK(one.entry.requests.held.size() == 1);
    one.all.ledger.set_ceiling(16);
    one.hold(OnBudget::fail);
    CHECK(one.entry.requests.held.size() == 2);
    CHECK_FALSE(one.entry.requests.held.back().waits);
}

TEST_CASE("the memory of other idle models counts as room, that of busy ones does not") {
    Admitting one;
    auto& other = one.open(kScript, "other");
    one.entry.state = ModelEntry::State::evicted;
    one.entry.claims = {};
    one.all.ledger.set_ceiling(21);
    one.hold(OnBudget::fail);
    CHECK(one.entry.requests.held.size() == 1);
    other.open_streams = 1;
    CHECK_THROWS_AS(one.hold(OnBudget::fail), sotto::Error);
    other.open_streams = 0;
}

TEST_CASE("a model that is being reloaded and lacks nothing refuses no request") {
    Admitting one;
    one.entry.state = ModelEntry::State::loading;
    one.all.ledger.set_ceiling(21);
    one.hold(OnBudget::fail);
    one.entry.need.bytes = 1; // it lacks memory
    CHECK_THROWS_AS(one.hold(OnBudget::fail), sotto::Error);
}

TEST_CASE("a request that accepts a smaller model says so to the next load, also after one that does not") {
    Admitting one;
    one.hold(OnBudget::wait);
    CHECK_FALSE(one.entry.need.may_shrink);
    one.hold(OnBudget::shrink);
    one.hold(OnBudget::wait);
    CHECK(one.entry.need.may_shrink);
}

TEST_CASE("when memory cannot be freed, those fail that will not wait, and the others stay") {
    Admitting one;
    auto& waits = one.hold(OnBudget::wait);
    CHECK_FALSE(one.admission.refuse_impatient(one.entry));
    const auto fails = one.hold(OnBudget::fail).id.load();
    CHECK(one.admission.refuse_impatient(one.entry));
    CHECK(one.all.done(fails).status == SOTTO_ERROR_BUDGET);
    REQUIRE(one.entry.requests.held.size() == 1);
    CHECK(one.entry.requests.held[0].slot == &waits);
    CHECK_FALSE(one.admission.refuse_impatient(one.entry));
}

TEST_CASE("the reason names the model, the budget and a way out") {
    Admitting one;
    one.all.ledger.set_ceiling(40 << 20);
    one.entry.loaded.min_bytes = 30 << 20;
    one.entry.state = ModelEntry::State::evicted;
    const auto reason = one.admission.reason(one.entry);
    CHECK_MESSAGE(reason.find("m needs 30") == 0, reason);
    CHECK_MESSAGE(reason.find("vram_budget") != std::string::npos, reason);
    one.entry.state = ModelEntry::State::ready; // only a slot is missing
    CHECK(one.admission.reason(one.entry).find("m needs 30") == std::string::npos);
}
