// The work of the control thread on the test's own thread: models, requests and their end.
#include "core/control/control_loop.hpp"

#include <string>

#include <doctest/doctest.h>

#include "support/control_world.hpp"

using sotto::ModelEntry;
using sotto::Slot;

namespace {

const std::string kScript = R"({"tokens": ["a", "b"], "prompt_tokens": 1})";

class Loop {
public:
    ~Loop() {
        loop.leave();
        run([&] { return loop.has_ended(); });
    }

    // Works until `over` returns true.
    template <typename Over>
    void run(const Over& over) {
        for (;;) {
            const auto seen = all.wake.value();
            if (loop.work(false)) {
                continue;
            }
            if (over()) {
                return;
            }
            all.wake.wait(seen, 1'000'000);
        }
    }
    test::ControlWorld::Done end_of(Slot& slot) {
        test::ControlWorld::Done done;
        const auto id = slot.id.load();
        loop.submit(slot);
        run([&] {
            done = all.done(id);
            return done.status != SOTTO_EMPTY;
        });
        return done;
    }
    void load(const std::string& script = kScript) {
        CHECK(end_of(all.load("m", script)).status == SOTTO_OK);
    }

    test::ControlWorld all;
    sotto::DeviceMoves moves{all.wake};
    sotto::ControlLoop loop{all.world, moves, all.wake};
};

} // namespace

TEST_CASE("a loaded model answers, and is idle afterwards") {
    Loop one;
    one.load();
    CHECK(one.end_of(one.all.chat("m")).status == SOTTO_OK);
    const auto& entry = *one.all.registry.entries().front();
    one.run([&] { return entry.open_streams == 0; });
    CHECK(entry.requests.streams == 0);
    CHECK(one.loop.next_wake() == sotto::kNever);
}

TEST_CASE("a request for a model that is not loaded fails") {
    Loop one;
    const auto done = one.end_of(one.all.chat("m"));
    CHECK(done.status == SOTTO_ERROR_NOT_FOUND);
    CHECK(done.error == "model 'm' is not loaded: load it first with sotto_engine_load_model()");
}

TEST_CASE("a cancelled request ends, and the model answers the next one") {
    Loop one;
    one.load();
    auto& slot = one.all.chat("m");
    const auto id = slot.id.load();
    one.loop.submit(slot);
    one.loop.cancel(slot);
    CHECK(one.all.done(id).status == SOTTO_ERROR_CANCELLED);
    CHECK(one.end_of(one.all.chat("m")).status == SOTTO_OK);
}

TEST_CASE("the loop ends once all models are freed, and starts no request any more") {
    Loop one;
    one.load();
    CHECK_FALSE(one.loop.has_ended());
    one.loop.leave();
    const auto done = one.end_of(one.all.chat("m"));
    CHECK(done.status == SOTTO_ERROR_CANCELLED);
    CHECK(done.error == "the engine is being destroyed");
    one.run([&] { return one.loop.has_ended(); });
    CHECK(one.all.registry.entries().empty());
}
