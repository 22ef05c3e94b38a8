// The models of an engine, and the memory that they and their KV caches take.
#pragma once

#include <cstdint>
#include <string>

#include "core/memory/ledger.hpp"
#include "core/model/registry.hpp"
#include "core/settings.hpp"
#include "core/state/kv_state_store.hpp"

namespace sotto {

struct EngineMemory {
    // `device`: whose memory the budget limits. `hooks` outlive it.
    EngineMemory(
        const Hooks& hooks, const std::string& device, std::string kv_spill_dir, std::uint64_t kv_spill_memory
    );

    Registry registry;
    Ledger ledger;
    Ledger host_ledger; // host memory, if `ledger` counts the memory of a device; without a ceiling
    KvStateStore kv_states;
};

} // namespace sotto
