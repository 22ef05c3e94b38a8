// JSON reports about memory: the plan of a load, and the memory in use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sotto {

class Ledger;
class KvStateStore;
struct LoadPlan;

// Returns the response to a load plan request. `used`: bytes of the budget in use by other models; `idle`:
// bytes of `used` held by models that could be evicted. `budget` 0: no budget.
std::string plan_json(
    const std::string& id, const LoadPlan& fit, std::uint64_t budget, std::uint64_t used, std::uint64_t idle
);

// Returns the result of sotto_engine_memory(). `models`: a JSON array of objects with an "id"; the memory of
// each model is added to the model's object. `device`: the device whose memory `ledger` counts.
std::string memory_json(
    const Ledger& ledger,
    const KvStateStore& kv_states,
    std::string_view models,
    std::string_view device = "cpu"
);

} // namespace sotto
