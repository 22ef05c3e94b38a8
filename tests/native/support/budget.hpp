// Models with memory sizes, and a host that checks an engine's memory use against its budget.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include <sotto/budget.h>

#include "support/game.hpp"
#include "text/json_reader.hpp"

namespace test {

using sotto::Json;

constexpr std::uint64_t kMegabyte = 1 << 20;
constexpr const char* kGivesAll = R"(["places", "streams", "tokens", "kv"])";

// Memory of a scripted model, in MB.
struct Takes {
    std::uint64_t weights = 10;
    std::uint64_t place = 10; // for each stream with a slot, for its whole context
    std::uint64_t compute = 2;
    std::uint32_t streams = 4;
    std::uint32_t context = 4096;
    std::string gives = "[]"; // properties that may be shrunk, a JSON array
    std::string more = {};    // more fields of its script, each after a comma
};
std::string script(const Takes& takes);
// A model that cannot be shrunk, only evicted.
std::string rigid(std::uint64_t weights, const std::string& more = "");

// Returns true if an error states the needed memory, the free memory and a way out.
bool says_why(const std::string& refusal);

// Records each block that an engine reserves or releases. Must outlive the engine.
class Account {
public:
    // Description of an engine with a budget that reports its memory to this object.
    sotto_engine_desc desc(std::uint64_t budget);

    // Sets the engine's budget. Any thread.
    void set(sotto_engine* engine, std::uint64_t budget);
    // The last budget is in force: from now on, blocks are checked against it only.
    void settled();

    std::int64_t taken() const;
    // Number of blocks that exceeded the budget when they were reserved.
    std::size_t violations() const;

private:
    static void SOTTO_CALL
    changed(void* self, sotto_memory_kind kind, sotto_str device, sotto_str model, std::int64_t bytes);

    std::mutex setting_;       // held while a budget is being set
    mutable std::mutex mutex_; // guards the members below
    std::uint64_t budget_ = 0; // 0: no budget
    std::uint64_t most_ = 0;   // the largest budget since settled()
    std::int64_t taken_ = 0;
    std::size_t violations_ = 0;
    sotto_memory_report report_{};
};

// An engine with a budget. Its destructor checks that the budget was never exceeded and no memory stays
// reserved.
class Tight {
public:
    struct Parking {
        std::string_view folder = {};
        std::uint64_t memory = 0;
    };
    explicit Tight(std::uint64_t megabytes, const sotto_backend& backend = scripted());
    Tight(std::uint64_t megabytes, const sotto_backend& backend, const Parking& parking);
    ~Tight();
    Tight(const Tight&) = delete;
    Tight& operator=(const Tight&) = delete;

    Account account;
    Game game;

    // Changes the budget.
    void set(std::uint64_t megabytes);
    // Waits until the memory in use fits the budget.
    void settle();

    Json memory() const;
    // The report of a model.
    Json model(std::string_view id) const;
    // Memory in use, in MB.
    double used() const { return memory()["used"].get<double>() / kMegabyte; }
    sotto_stats stats() const;
};

} // namespace test
