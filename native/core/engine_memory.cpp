#include "core/engine_memory.hpp"

#include <utility>

#include "core/memory/report.hpp"

namespace sotto {
namespace {

constexpr const char* kHost = "cpu";

// Returns the ledger callback that reports memory to the host; empty
// if the host has no memory hook.
Ledger::Told told_of(const Hooks& hooks, std::string device) {
    if (!hooks.memory) {
        return {};
    }
    return [&hooks, device = std::move(device)](Use use, const std::string& whose, std::int64_t bytes) {
        constexpr sotto_memory_kind kKinds[kUses] = {
            SOTTO_MEMORY_WEIGHTS,
            SOTTO_MEMORY_KV,
            SOTTO_MEMORY_COMPUTE,
            SOTTO_MEMORY_ADAPTER,
            SOTTO_MEMORY_IMAGE,
            SOTTO_MEMORY_SPILLED_KV,
        };
        const auto kind = kKinds[static_cast<std::size_t>(use)];
        const auto str = [](const std::string& text) { return sotto_str{text.data(), text.size()}; };
        if (const HookGate::Use call(&hooks.outlives->gate); call) {
            hooks.memory->changed(hooks.memory->self, kind, str(device), str(whose), bytes);
        }
    };
}

} // namespace

EngineMemory::EngineMemory(const EngineOptions& options, const Hooks& hooks)
    : device_(options.device), ledger_(told_of(hooks, device_)), host_ledger_(told_of(hooks, kHost)),
      kv_states_(host_ledger(), options.kv_spill_dir, options.kv_spill_memory, hooks) {}

Ledger& EngineMemory::host_ledger() noexcept {
    return device_ == kHost ? ledger_ : host_ledger_;
}

void EngineMemory::add_to(sotto_stats& stats) const noexcept {
    stats.bytes_in_use = ledger_.used();
    stats.vram_budget = ledger_.ceiling();
    stats.bytes_peak = ledger_.peak();
    stats.bytes_weights = ledger_.used(Use::weights);
    stats.bytes_kv = ledger_.used(Use::kv);
    stats.bytes_compute = ledger_.used(Use::compute);
    stats.bytes_parked = ledger_.used(Use::spilled_kv) + host_ledger_.used(Use::spilled_kv);
}

std::string EngineMemory::report(std::string_view models) const {
    return memory_json(ledger_, kv_states_, models, device_);
}

} // namespace sotto
