// The memory that an engine counts, without an engine.
#include "core/engine_memory.hpp"

#include <string>
#include <string_view>

#include <doctest/doctest.h>

using sotto::EngineMemory;
using sotto::Use;

namespace {

// The memory of an engine on a device, and what its host is told.
struct Counted {
    explicit Counted(const char* device) : hooks(listening()), memory(on(device), hooks) {}

    static sotto::EngineOptions on(const char* device) {
        sotto::EngineOptions options;
        options.device = device;
        return options;
    }
    sotto::Hooks listening() {
        sotto::Hooks made;
        made.memory = sotto_memory_report{
            .struct_size = sizeof(sotto_memory_report),
            .reserved = 0,
            .changed = changed,
            .self = this,
        };
        return made;
    }
    static void SOTTO_CALL
    changed(void* self, sotto_memory_kind, sotto_str device, sotto_str owner, std::int64_t bytes) {
        auto& told = static_cast<Counted*>(self)->told;
        told += std::string(device.data, device.size) + " " + std::string(owner.data, owner.size) + " " +
                std::to_string(bytes) + "; ";
    }
    sotto_stats stats() const {
        sotto_stats stats{};
        memory.add_to(stats);
        return stats;
    }

    std::string told;
    sotto::Hooks hooks;
    EngineMemory memory;
};

} // namespace

TEST_CASE("the statistics have the budget, and the memory in use by kind") {
    Counted counted("cpu");
    counted.memory.ledger().set_ceiling(1000);
    const auto weights = counted.memory.ledger().take(Use::weights, "m", 100);
    {
        const auto kv = counted.memory.ledger().take(Use::kv, "m", 20);
        const auto compute = counted.memory.ledger().take(Use::compute, "m", 3);
        const auto stats = counted.stats();
        CHECK(stats.vram_budget == 1000);
        CHECK(stats.bytes_in_use == 123);
        CHECK(stats.bytes_weights == 100);
        CHECK(stats.bytes_kv == 20);
        CHECK(stats.bytes_compute == 3);
    }
    CHECK(counted.stats().bytes_in_use == 100);
    CHECK(counted.stats().bytes_peak == 123);
    CHECK(counted.told.starts_with("cpu m 100; cpu m 20; cpu m 3; "));
}

TEST_CASE("spilled KV cache is host memory: in the budget of an engine on the CPU, beside that of a device") {
    for (const bool on_device : {false, true}) {
        CAPTURE(on_device);
        Counted counted(on_device ? "vulkan0" : "cpu");
        const auto weights = counted.memory.ledger().take(Use::weights, "m", 1);
        CHECK(counted.told == (on_device ? "vulkan0 m 1; " : "cpu m 1; "));
        counted.told.clear();
        const auto kept = counted.memory.kv_states().put("m", sotto::PageBuffer(std::string_view("a state")));
        REQUIRE(kept != nullptr);
        CHECK(counted.told.starts_with("cpu m "));
        CHECK(counted.stats().bytes_parked > 0);
        CHECK((counted.stats().bytes_in_use == 1) == on_device);
        CHECK((counted.memory.ledger().used(Use::spilled_kv) == 0) == on_device);
    }
}

TEST_CASE("the report adds its memory to each model") {
    Counted counted("cpu");
    const auto weights = counted.memory.ledger().take(Use::weights, "m", 5);
    const auto report = counted.memory.report(R"([{"id": "m"}])");
    CHECK_MESSAGE(report.find(R"({"id":"m","weights":5)") != report.npos, report);
    CHECK(report.find(R"("used":5)") != report.npos);
}
