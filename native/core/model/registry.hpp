// The models of an engine, from the load request until their memory is freed.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "core/memory/ledger.hpp"
#include "core/model/adapters.hpp"
#include "core/model/device_manager.hpp"
#include "core/model/load_plan.hpp"
#include "core/request/request_table.hpp"
#include "core/schedule/scheduled.hpp"
#include "core/state/kv_state_store.hpp"
#include "module/backend.hpp"

namespace sotto {

struct ModelEntry;
struct Session;

// Message from the loader to the control thread.
struct LoaderNote : MpscNode {
    enum class Kind : std::uint8_t { progress, loaded, lacks, failed, planned, freed };

    Kind kind = Kind::progress;
    ModelEntry* entry = nullptr;
    float progress = 0;
    std::unique_ptr<Model> model;
    LoadPlan fit; // of a note of kind loaded, planned or lacks
    Failure failure;
};

// A stream for the compute thread to close.
struct Closing {
    void* handle = nullptr;
    std::shared_ptr<Session> session; // session that keeps the KV cache; null if none
    bool pinned = false;              // true if the session is pinned
    KvStateStore::Kept kept;          // output: the saved KV cache
    std::uint64_t group = 0;          // adapter group of the stream
};

// A request held back until its model has memory.
struct HeldRequest {
    Slot* slot = nullptr;
    bool waits = true; // true: also waits for busy models
};

// Slot of a pinned session between its requests.
struct Resting {
    std::shared_ptr<Session> session;
    void* handle = nullptr; // its last stream, which has ended; null if parked
};

// Memory charged to a model.
struct Claims {
    Ledger::Claim weights;
    Ledger::Claim kv;
    Ledger::Claim compute;
};

// One model. Control thread only, unless a member's comment says otherwise.
struct ModelEntry : MpscNode, ScheduledModel {
    explicit ModelEntry(const Asked& how) : asked(how) {}

    enum class State : std::uint8_t {
        loading, // or waiting for memory to load
        ready,
        dozing, // about to be evicted
        asleep, // evicted to free memory; reloaded on the next request
        leaving,
        planning // only measured, never loaded
    };

    const Asked asked; // load request
    State state = State::loading;
    std::unique_ptr<Model> model; // set once ready; created and freed by the loader
    std::vector<Slot*> waiting;   // requests notified once loaded, planned or removed
    std::vector<HeldRequest> held;
    std::size_t streams = 0;      // active and queued answers
    std::vector<Closing> closing; // streams for the compute thread to close
    std::vector<Resting> resting; // in LRU order; each counts as an open stream
    // Loaded adapters, with distinct names. The loader owns both lists while it owns the model.
    std::vector<std::shared_ptr<Adapter>> adapters;
    std::vector<std::shared_ptr<Adapter>> retired; // unloaded; active requests may still use them
    std::vector<Slot*> changes;                    // adapter load, unload and scale requests, FIFO
    Slot* loading_adapter = nullptr;               // of the running adapter load; null if cancelled
    bool with_loader = false;                      // true while the loader owns the model
    std::atomic<bool> give_up{false};              // set to cancel loading; read by the loader
    // Device of the model or of its load; written by the loader
    std::atomic<DeviceNumber> device{0};
    std::uint32_t preparing = 0; // requests on preparing threads
    // The loader's final note; allocated in advance, so that sending it cannot fail.
    std::unique_ptr<LoaderNote> verdict = std::make_unique<LoaderNote>();

    std::uint32_t most_decoded = 1; // max answer tokens per stream and step, with draft tokens

    // Owned by the loader while with_loader is true:
    Shape shape;                            // requested or actual shape
    ShrinkScope smaller = ShrinkScope::all; // which parts of `shape` may shrink
    Claims claims;
    std::shared_ptr<const gpu::CudaContext> on_card; // CUDA context of the model; null if none
    DeviceNumber refused = 0;                        // last shared GPU unable to hold the model

    std::uint32_t idle_steps = 0; // consecutive steps without work; compute thread only

    std::string backend;            // backend name, once loaded
    std::string description;        // JSON from the backend, once loaded
    std::uint32_t context = 0;      // tokens per stream
    std::uint32_t most_streams = 0; // maximum slots; 0: never loaded
    std::uint64_t each_place = 0;   // bytes of KV cache per slot
    // Slots at load time; bytes of compute buffers for these, and for the maximum number of slots.
    std::uint32_t first_streams = 0;
    std::uint64_t first_compute = 0;
    std::uint64_t most_compute = 0;
    std::uint64_t host = 0;   // bytes of host memory, if the budget counts device memory
    std::uint64_t least = 0;  // minimum bytes to answer at all
    std::int64_t used_at = 0; // time of the last request
    bool may_shrink = false;  // a waiting request accepts a smaller model
    std::uint64_t lacks = 0;  // bytes that must be free before loading continues; 0: none
    std::uint64_t leaves = 0; // bytes that the running eviction frees
    LoadPlan fit;             // last load plan

    std::uint64_t bytes() const noexcept {
        auto sum = claims.weights.bytes() + claims.kv.bytes() + claims.compute.bytes();
        for (const auto* all : {&adapters, &retired}) {
            for (const auto& adapter : *all) {
                sum += adapter->claim.bytes();
            }
        }
        return sum;
    }
    // Bytes of its adapters, also while the model is evicted.
    std::uint64_t adapter_bytes() const noexcept {
        std::uint64_t sum = 0;
        for (const auto& adapter : adapters) {
            sum += adapter->bytes;
        }
        return sum;
    }
    std::uint64_t compute_for(std::uint32_t places) const noexcept {
        return places > first_streams ? most_compute : first_compute;
    }
    // Bytes needed for the first slot if the model has none.
    std::uint64_t first_place() const noexcept { return compute_for(1) + each_place; }
    // Returns true if the model was never loaded.
    bool is_new() const noexcept { return most_streams == 0; }
};

class Registry {
public:
    // Returns the model with that id unless it is planning or leaving; null if none.
    ModelEntry* find(std::string_view id) noexcept;

    // Allocates space for one more model, so that add() cannot fail.
    void reserve() { entries_.reserve(entries_.size() + 1); }
    void add(std::unique_ptr<ModelEntry> entry) noexcept { entries_.push_back(std::move(entry)); }

    void remove(ModelEntry& entry);

    const std::vector<std::unique_ptr<ModelEntry>>& entries() const noexcept { return entries_; }

    // Updates the JSON that list() and states() return; "[]" if out of memory.
    void publish() noexcept;

    // Models that were loaded, evicted ones included, as JSON. Any thread.
    std::string list() const;
    // States and slot counts of all models that are not planning, as JSON. Any thread.
    std::string states() const;

private:
    std::vector<std::unique_ptr<ModelEntry>> entries_;
    mutable std::mutex mutex_; // guards the JSON; never held by the compute thread
    std::string picture_ = "[]";
    std::string states_ = "[]";
};

} // namespace sotto
