// The gate of a step: without a model.
#include "runtime/guard.hpp"
#include "step/step_gate.hpp"

#include <chrono>
#include <doctest/doctest.h>
#include <thread>

using namespace sotto::llama;

namespace {

struct Engine {
    int asked = 0;
    int closes_at = 0; // 0: never
    std::chrono::milliseconds delay{0};

    static std::int32_t gate(void* context) {
        auto& engine = *static_cast<Engine*>(context);
        std::this_thread::sleep_for(engine.delay);
        return ++engine.asked == engine.closes_at ? 1 : 0;
    }
    sotto_step step() {
        auto made = sotto_init<sotto_step>();
        made.gate = gate;
        made.context = this;
        return made;
    }
};

const auto kHost = sotto_init<sotto_backend_host>();

} // namespace

TEST_CASE("a gate that closed stays closed until the next step, without being asked again") {
    const Call call(kHost, Call::Abort::Throws);
    Engine engine;
    engine.closes_at = 2;
    const auto step = engine.step();
    StepGate gate(false);
    {
        const StepGate::Scope scope(gate, step);
        CHECK(!gate.ask());
        CHECK(StepGate::on_abort(&gate));
        CHECK(gate.ask());
        CHECK(engine.asked == 2);
    }
    CHECK(gate.cancelled());
    const StepGate::Scope scope(gate, step);
    CHECK(!gate.cancelled());
    CHECK(!gate.ask());
}

TEST_CASE("outside of a step nobody is asked") {
    StepGate gate(true);
    CHECK(!gate.ask());
    CHECK(gate.waited().count() == 0);
}

TEST_CASE("only a timed gate measures how long it waited") {
    const Call call(kHost, Call::Abort::Throws);
    Engine engine;
    engine.delay = std::chrono::milliseconds(2);
    const auto step = engine.step();
    for (const bool timed : {false, true}) {
        StepGate gate(timed);
        const StepGate::Scope scope(gate, step);
        gate.ask();
        gate.ask();
        CHECK((gate.waited() >= std::chrono::milliseconds(4)) == timed);
    }
}
