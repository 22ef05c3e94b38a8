// Accounting of an engine's memory, and the store of KV caches of streams without a slot.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <sotto/stats.h>

#include "core/memory/ledger.hpp"
#include "core/settings.hpp"
#include "core/state/kv_state_store.hpp"

namespace sotto {

// Any thread may call any function.
class EngineMemory {
public:
    // `hooks`: its memory hook is called for each change; must outlive the object.
    EngineMemory(const EngineOptions& options, const Hooks& hooks);

    // Writes the memory in use and the budget to `stats`.
    void add_to(sotto_stats& stats) const noexcept;
    // See sotto_engine_memory(). `models`: see memory_json().
    std::string report(std::string_view models) const;

    Ledger& ledger() noexcept { return ledger_; }
    Ledger& host_ledger() noexcept;
    KvStateStore& kv_states() noexcept { return kv_states_; }

private:
    const std::string device_;
    Ledger ledger_;
    // Counts what is in host memory beside models, unless `ledger_` counts host memory. Has no ceiling.
    Ledger host_ledger_;
    KvStateStore kv_states_;
};

} // namespace sotto
