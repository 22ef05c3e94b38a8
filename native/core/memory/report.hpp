// JSON reports about memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sotto {

class Ledger;
class KvStateStore;
struct LoadPlan;

// Response to a plan request. `used`: bytes of the budget that others use; `idle`: the part of these that
// belongs to models that could be evicted. `budget` 0: no budget.
std::string plan_json(
    const std::string& id, const LoadPlan& fit, std::uint64_t budget, std::uint64_t used, std::uint64_t idle
);

// `models`: a JSON array of objects, to each of which its memory is added. `device`: the ledger's device.
std::string memory_json(
    const Ledger& ledger,
    const KvStateStore& kv_states,
    std::string_view models,
    std::string_view device = "cpu"
);

} // namespace sotto
