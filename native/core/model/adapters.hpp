// LoRA adapters of a model, and the sets of them that requests use.
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

constexpr const char* kDefaultAdapter = "default"; // the one that requests use which name none

// Owned by the control thread, except while the loader has the model or a job loads the adapter.
struct Adapter {
    std::uint64_t number = 0; // never reused in an engine
    std::string name;
    std::string path;
    float scale = 1;
    std::uint64_t bytes = 0; // of memory, also while the model is evicted
    void* handle = nullptr;  // of the backend; null: not loaded
    Ledger::Claim claim;
    Failure failure; // of loading it again after its model was evicted

    // Loads it for `model`, within the budget. On Error, no memory is charged.
    void open(Model& model, Ledger& ledger, const std::string& whose, const sotto_file_access* files);
    void close(Model& model) noexcept;
};

struct AdapterUse {
    std::shared_ptr<Adapter> adapter;
    float scale = 1; // not 0
};
using AdapterSet = std::vector<AdapterUse>; // ordered by number

// Names a set: streams of equal sets, and no others, go into one step, and use each other's KV cache. 0: the
// empty set. At most INT64_MAX.
std::uint64_t group_of(const AdapterSet& set) noexcept;

} // namespace sotto
