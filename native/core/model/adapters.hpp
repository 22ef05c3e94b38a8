// LoRA adapters of a model, and the adapter sets that requests use.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <sotto/host.h>

#include "base/error.hpp"
#include "core/memory/ledger.hpp"
#include "module/backend.hpp"

namespace sotto {

constexpr const char* kDefaultAdapter = "default"; // adapter of requests that name none

// Owned by the control thread, except while the loader owns the model or a job loads the adapter.
struct Adapter {
    std::uint64_t number = 0; // never reused within an engine
    std::string name;
    std::string path;
    float scale = 1;
    std::uint64_t bytes = 0; // size in memory; kept while the model is evicted
    void* handle = nullptr;  // backend handle; null if not loaded
    Ledger::Claim claim;
    Failure failure; // of the last reload after the model was evicted

    // Loads the adapter into `model` within the budget. Throws Error; no memory is charged then.
    void open(Model& model, Ledger& ledger, const std::string& whose, const sotto_file_access* files);
    void close(Model& model) noexcept;
};

struct Slot;

// Adapters of a model, with distinct names, and the requests to change them. The loader owns `loaded` and
// `retired` while it owns the model; the control thread owns the other members.
struct AdapterList {
    std::vector<std::shared_ptr<Adapter>> loaded;
    std::vector<std::shared_ptr<Adapter>> retired; // unloaded; active requests may still use them
    std::vector<Slot*> changes;                    // load, unload and scale requests, FIFO
    Slot* loading = nullptr;                       // request of the running load; null if cancelled

    // Returns the size of the loaded adapters, also while the model is evicted.
    std::uint64_t bytes() const noexcept;
    // Returns the bytes charged to the budget for all adapters.
    std::uint64_t charged() const noexcept;
};

struct AdapterUse {
    std::shared_ptr<Adapter> adapter;
    float scale = 1; // never 0
};
using AdapterSet = std::vector<AdapterUse>; // ordered by number

// Returns a hash of a set, from 0 (the empty set) to INT64_MAX. Only streams with equal hashes are
// batched into one step and share KV cache prefixes.
std::uint64_t group_of(const AdapterSet& set) noexcept;

} // namespace sotto
