// When parked KV cache is spilled to disk.
#include "core/control/state_spiller.hpp"

#include <vector>

#include <doctest/doctest.h>

#include "support/manual_clock.hpp"
#include "support/parking.hpp"

namespace {

// A store with memory for four states.
struct Spills {
    void wait() {
        for (;;) {
            const auto seen = spilled.value();
            if (place.parking->figures().memory == 0) {
                return;
            }
            spilled.wait(seen, 1'000'000);
        }
    }

    test::Place place{4};
    const test::ManualClock clock;
    sotto::Settings settings;
    sotto::Frames frames;
    sotto::Signal spilled;
    sotto::DeviceMoves moves{spilled};
    sotto::ThreadClassPolicy classes{place.hooks, settings, frames, clock, moves, spilled};
    sotto::StateSpiller spiller{place.hooks, settings, *place.parking, classes, spilled};
};

} // namespace

TEST_CASE("states are spilled until the bytes are freed that a budget needs") {
    Spills one;
    one.settings.mode = SOTTO_MODE_PRIORITIZE_COMPUTE;
    const auto first = one.place.put(1);
    const auto second = one.place.put(2);
    CHECK(one.spiller.can_make_room());
    one.spiller.spill(2 * test::kSize);
    one.wait();
    CHECK(one.place.read(first) == test::state(1));
    CHECK(one.place.read(second) == test::state(2));
}

TEST_CASE("states that fit the memory stay there") {
    Spills one;
    const auto kept = one.place.put(1);
    REQUIRE_FALSE(one.place.parking->is_untidy());
    one.spiller.tidy();
    CHECK(one.spiller.can_make_room());
    CHECK(one.place.parking->figures().memory == test::kSize);
}
