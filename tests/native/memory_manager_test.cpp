// Whose memory is taken, in which order, when the budget is exceeded or a model waits for memory.
#include "core/control/memory_manager.hpp"

#include <memory>
#include <string>

#include <doctest/doctest.h>

#include "support/control_parts.hpp"

using sotto::Job;
using sotto::ModelEntry;
using sotto::ResizeJob;
using sotto::Session;
using sotto::Stream;

namespace {

// 21 bytes.
constexpr const char* kGiving =
    R"({"tokens": ["a", "b"], "prompt_tokens": 1, "weights": 10, "kv_per_place": 5, "compute": 1, "streams": 2,
    "parkable": true, "fingerprint": "{}", "gives": ["places"]})";
// 21 bytes that cannot shrink.
constexpr const char* kRigid =
    R"({"tokens": ["a"], "weights": 10, "kv_per_place": 5, "compute": 1, "streams": 2})";

struct Memory : test::ControlParts {
    // A model that was loaded before, and gave up its memory.
    ModelEntry& evicted(const std::string& id) {
        auto& entry = open(kRigid, id);
        entry.claims = {};
        entry.model.reset();
        entry.state = ModelEntry::State::evicted;
        return entry;
    }
    // Takes the loader's results until `over` returns true.
    template <typename Over>
    void run(const Over& over) {
        for (;;) {
            const auto seen = all.wake.value();
            models.take_loader_notes();
            models.free_leaving();
            if (over()) {
                return;
            }
            all.wake.wait(seen, 1'000'000);
        }
    }
    // Waits until a model that was evicted is free.
    void finish_eviction(const ModelEntry& entry) {
        run([&] { return entry.state == ModelEntry::State::evicted; });
    }
    // The model that the job under way resizes, and to how many slots.
    const ResizeJob* resize_of(const ModelEntry& entry) const {
        const auto* job = const_cast<sotto::JobDispatch&>(jobs).runner().job();
        return job != nullptr && job->entry == &entry ? std::get_if<ResizeJob>(&job->what) : nullptr;
    }
    void finish_resize() {
        auto job = wait();
        resizer.resized(*job, std::get<ResizeJob>(job->what));
    }
};

} // namespace

TEST_CASE("within the budget nothing is started") {
    Memory one;
    one.open(kGiving);
    CHECK_FALSE(one.memory.balance());
    one.all.ledger.set_ceiling(21);
    CHECK_FALSE(one.memory.balance());
}

TEST_CASE("over the budget, an idle model first gives up its slots, and then its weights") {
    Memory one;
    auto& entry = one.open(kGiving);
    one.all.ledger.set_ceiling(20);
    REQUIRE(one.memory.balance());
    REQUIRE(one.resize_of(entry) != nullptr);
    CHECK(one.resize_of(entry)->slots == 0);
    CHECK_FALSE(one.memory.balance()); // the job is under way
    one.finish_resize();
    CHECK_FALSE(one.memory.balance()); // 10 bytes are left
    one.all.ledger.set_ceiling(9);
    CHECK(one.memory.balance());
    CHECK(entry.state == ModelEntry::State::evicting);
    one.finish_eviction(entry);
    CHECK(one.all.ledger.used() == 0);
}

TEST_CASE("of idle models, the one used least recently gives first, whatever its place in the registry") {
    Memory one;
    auto& newer = one.open(kRigid, "newer");
    auto& older = one.open(kRigid, "older");
    newer.requests.used_at = 2;
    older.requests.used_at = 1;
    one.all.ledger.set_ceiling(30);
    CHECK(one.memory.balance());
    CHECK(older.state == ModelEntry::State::evicting);
    CHECK(newer.state == ModelEntry::State::ready);
    one.finish_eviction(older);
    CHECK_FALSE(one.memory.balance());
}

TEST_CASE("busy models give up slots only if idle ones are gone, and keep one") {
    Memory one;
    auto& busy = one.open(kGiving, "busy");
    auto& idle = one.open(kRigid, "idle");
    auto& stream = one.add_open(busy);
    one.all.ledger.set_ceiling(18); // without the idle model, 3 too many
    REQUIRE(one.memory.balance());
    if (one.resize_of(busy) == nullptr) {
        CHECK(idle.state == ModelEntry::State::evicting);
        one.finish_eviction(idle);
        REQUIRE(one.memory.balance());
    }
    REQUIRE(one.resize_of(busy) != nullptr);
    CHECK(one.resize_of(busy)->slots == 1);
    one.finish_resize();
    CHECK(stream.state == Stream::State::parked);
    stream.busy = false;
    one.all.ledger.set_ceiling(1);
    CHECK_FALSE((one.memory.balance() && one.resize_of(busy) != nullptr)); // it keeps the last slot
    one.run([&] { return idle.state == ModelEntry::State::evicted; });
    one.close(stream);
}

TEST_CASE("requests that will not wait fail when the budget is exceeded, and are answered when it is not") {
    Memory one;
    auto& entry = one.open(kRigid);
    entry.open_streams = 1; // busy
    auto& fails = one.all.chat("m");
    auto& waits = one.all.chat("m");
    const auto id = fails.id.load();
    entry.requests.held = {{&fails, false}, {&waits, true}};
    one.all.ledger.set_ceiling(20);
    CHECK(one.memory.balance());
    CHECK(one.all.done(id).status == SOTTO_ERROR_BUDGET);
    CHECK(one.admitted.empty());
    one.all.ledger.set_ceiling(21);
    CHECK(one.memory.balance());
    CHECK(one.admitted == std::vector<sotto::Slot*>{&waits});
    entry.open_streams = 0;
}

TEST_CASE("an evicted model is loaded again once a request waits for it, and not before") {
    Memory one;
    auto& entry = one.evicted("m");
    CHECK_FALSE(one.memory.balance());
    entry.requests.held.push_back({&one.all.chat("m"), true});
    entry.need.may_shrink = true;
    REQUIRE(one.memory.balance());
    CHECK(entry.state == ModelEntry::State::loading);
    CHECK(entry.loader.owns);
    CHECK_FALSE(entry.need.may_shrink);
    one.run([&] { return !entry.loader.owns; }); // the test has no backend of the name ""
    CHECK(entry.state == ModelEntry::State::evicted);
    CHECK(entry.requests.held.empty());
}

TEST_CASE("a model that waits for memory gets that of idle models, and then goes on") {
    Memory one;
    auto& idle = one.open(kRigid, "idle");
    auto& waits = one.evicted("waits");
    waits.state = ModelEntry::State::loading;
    waits.need.bytes = 16;
    one.all.ledger.set_ceiling(21);
    REQUIRE(one.memory.balance());
    CHECK(idle.state == ModelEntry::State::evicting);
    one.finish_eviction(idle);
    CHECK(one.memory.balance());
    CHECK(waits.need.bytes == 0);
    one.run([&] { return !waits.loader.owns; });
}

TEST_CASE("a model that can never fit is refused, if it is new or nobody else could make room") {
    for (const bool is_new : {false, true}) {
        Memory one;
        auto& waits = one.evicted("waits");
        waits.state = ModelEntry::State::loading;
        waits.need.bytes = 100;
        waits.loaded.max_slots = is_new ? 0 : 2;
        auto& slot = one.all.chat("waits");
        const auto id = slot.id.load();
        waits.requests.waiting.push_back(&slot);
        one.all.ledger.set_ceiling(50);
        CHECK(one.memory.balance());
        CHECK(one.all.done(id).status == SOTTO_ERROR_BUDGET);
        CHECK(one.all.registry.entries().size() == (is_new ? 0U : 1U));
    }
}

TEST_CASE("a model that was ready before waits for busy models, and a new one is refused") {
    for (const bool is_new : {false, true}) {
        Memory one;
        auto& busy = one.open(kRigid, "busy");
        busy.open_streams = 1;
        auto& waits = one.evicted("waits");
        waits.state = ModelEntry::State::loading;
        waits.need.bytes = 16;
        waits.loaded.max_slots = is_new ? 0 : 2;
        one.all.ledger.set_ceiling(21);
        CHECK(one.memory.balance() == is_new);
        CHECK(busy.state == ModelEntry::State::ready);
        CHECK(one.all.registry.find("waits") == (is_new ? nullptr : &waits));
        busy.open_streams = 0;
    }
}

TEST_CASE("while streams wait to be closed, no more memory is taken") {
    Memory one;
    auto& entry = one.open(kRigid);
    auto& other = one.open(kRigid, "other");
    entry.slots.closing.emplace_back();
    one.all.ledger.set_ceiling(30);
    CHECK_FALSE(one.memory.balance());
    CHECK(other.state == ModelEntry::State::ready);
    entry.slots.closing.clear();
    CHECK(one.memory.balance());
    one.run([&] { return one.all.ledger.over() == 0; });
}

TEST_CASE("models of pinned sessions give spare slots before the sessions lose theirs") {
    Memory one;
    auto& entry = one.open(
        R"({"tokens": ["a"], "weights": 10, "kv_per_place": 5, "compute": 1, "streams": 4,
        "parkable": true, "fingerprint": "{}", "gives": ["places"]})"
    ); // 31 bytes
    const auto session = std::make_shared<Session>();
    session->pinned = true;
    entry.slots.pinned.push_back({session, nullptr});
    one.all.ledger.set_ceiling(29);
    REQUIRE(one.memory.balance());
    REQUIRE(one.resize_of(entry) != nullptr);
    CHECK(one.resize_of(entry)->slots == 3);
    one.finish_resize();
    CHECK(entry.slots.pinned.size() == 1);
    one.all.ledger.set_ceiling(22); // with one slot beside the session's
    REQUIRE(one.memory.balance());
    CHECK(one.resize_of(entry)->slots == 2);
    one.finish_resize();
    CHECK(entry.slots.pinned.size() == 1);
}
