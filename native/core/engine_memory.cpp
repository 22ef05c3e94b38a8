#include "core/engine_memory.hpp"

#include <utility>

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

EngineMemory::EngineMemory(
    const Hooks& hooks, const std::string& device, std::string kv_spill_dir, std::uint64_t kv_spill_memory
)
    : ledger(told_of(hooks, device)), host_ledger(told_of(hooks, kHost)),
      kv_states(device == kHost ? ledger : host_ledger, std::move(kv_spill_dir), kv_spill_memory, hooks) {}

} // namespace sotto
