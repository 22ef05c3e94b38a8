// Models that take memory, and a host that minds what an engine takes of it.
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

// What a scripted model takes, in MB.
struct Takes {
    std::uint64_t weights = 10;
    std::uint64_t place = 10; // of each stream that has one, for all of its context
    std::uint64_t compute = 2;
    std::uint32_t streams = 4;
    std::uint32_t context = 4096;
    std::string gives = "[]"; // what of that may be made smaller, a JSON array
    std::string more = {};    // further fields of its script, each with a comma before it
};
std::string script(const Takes& takes);
// A model with nothing to give up but itself.
std::string rigid(std::uint64_t weights, const std::string& more = "");

// Whether a refusal names what is needed, what there is, and a way out.
bool says_why(const std::string& refusal);

// Hears of each block that an engine takes or gives back. Outlives the engine.
class Account {
public:
    // Of an engine with a budget, whose memory this hears of.
    sotto_engine_desc desc(std::uint64_t budget);

    // Gives the engine another budget. Any thread.
    void set(sotto_engine* engine, std::uint64_t budget);
    // The last budget is in force: from now on it counts, and none before it.
    void settled();

    std::int64_t taken() const;
    // Blocks that did not fit when they were told.
    std::size_t violations() const;

private:
    static void SOTTO_CALL
    changed(void* self, sotto_memory_kind kind, sotto_str device, sotto_str model, std::int64_t bytes);

    std::mutex setting_;       // held while the engine is given a budget
    mutable std::mutex mutex_; // guards what follows
    std::uint64_t budget_ = 0; // 0: none
    std::uint64_t most_ = 0;   // the largest since they were settled
    std::int64_t taken_ = 0;
    std::size_t violations_ = 0;
    sotto_memory_report report_{};
};

// An engine that is short of memory. Once it is gone, it never took more than it was given, nor kept any.
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
    // Waits until what it has fits its budget.
    void settle();

    Json memory() const;
    // What it says of a model.
    Json model(std::string_view id) const;
    // How many bytes it has, in MB.
    double used() const { return memory()["used"].get<double>() / kMegabyte; }
    sotto_stats stats() const;
};

} // namespace test
