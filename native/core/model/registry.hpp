// The models an engine holds, from the wish to load one to its last byte given back.
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

// What the loader tells the control thread.
struct LoaderNote : MpscNode {
    enum class Kind : std::uint8_t { progress, loaded, lacks, failed, planned, freed };

    Kind kind = Kind::progress;
    ModelEntry* entry = nullptr;
    float progress = 0;
    std::unique_ptr<Model> model;
    LoadPlan fit; // of what was loaded or planned, or lacks room
    Failure failure;
};

// A stream that the compute thread shall close.
struct Closing {
    void* handle = nullptr;
    std::shared_ptr<Session> session; // that shall keep what it remembers; or null
    bool pinned = false;              // that one is
    KvStateStore::Kept kept;          // out
    std::uint64_t group = 0;          // of the stream
};

// A request that its model answers once it has room.
struct HeldRequest {
    Slot* slot = nullptr;
    bool waits = true; // also for those that are busy
};

// The place of a pinned session between its turns.
struct Resting {
    std::shared_ptr<Session> session;
    void* handle = nullptr; // of its last stream, which is over; null: it was parked
};

// What of the ledger is a model's.
struct Claims {
    Ledger::Claim weights;
    Ledger::Claim kv;
    Ledger::Claim compute;
};

// One model. Its members are the control thread's, unless they say otherwise.
struct ModelEntry : MpscNode, ScheduledModel {
    explicit ModelEntry(const Asked& how) : asked(how) {}

    enum class State : std::uint8_t {
        loading, // or waits for room to be loaded in
        ready,
        dozing, // about to be asleep
        asleep, // freed for lack of room, until it is asked for
        leaving,
        planning // never to be loaded
    };

    const Asked asked; // how it was asked for
    State state = State::loading;
    std::unique_ptr<Model> model; // once ready; made and freed by the loader
    std::vector<Slot*> waiting;   // requests to be told when it is loaded, planned, or gone
    std::vector<HeldRequest> held;
    std::size_t streams = 0;      // answers that it gives or is to give
    std::vector<Closing> closing; // streams that the compute thread shall close next
    std::vector<Resting> resting; // the one unused longest first; each counts as an open stream
    // Loaded adapters, with distinct names. The loader owns both lists while it has the model.
    std::vector<std::shared_ptr<Adapter>> adapters;
    std::vector<std::shared_ptr<Adapter>> retired; // unloaded; running requests may still use them
    std::vector<Slot*> changes;                    // requests that load, unload or scale, the oldest first
    Slot* loading_adapter = nullptr;               // request whose adapter a job loads; null if cancelled
    bool with_loader = false;                      // whether the loader has it
    std::atomic<bool> give_up{false};              // read by the loader: stop loading
    std::atomic<DeviceNumber> device{0}; // that it is on, or is being loaded on; written by the loader
    std::uint32_t preparing = 0;         // requests that preparing threads are at
    // What the loader will tell when it is done; made beforehand, so that it can without memory.
    std::unique_ptr<LoaderNote> verdict = std::make_unique<LoaderNote>();

    std::uint32_t most_decoded = 1; // answer tokens of a stream in one step, draft tokens included, so far

    // The loader's, while it has it:
    Shape shape;                                     // that it is to have, or has
    ShrinkScope smaller = ShrinkScope::all;          // what of that may change
    Claims claims;                                   // of the ledger
    std::shared_ptr<const gpu::CudaContext> on_card; // that the model lives in; null: in none
    DeviceNumber refused = 0;                        // the last card that could not have it

    std::uint32_t idle_steps = 0; // in a row, that did nothing; the compute thread's

    std::string backend;            // once it was loaded: the name
    std::string description;        // likewise, JSON of the backend's
    std::uint32_t context = 0;      // tokens of a stream
    std::uint32_t most_streams = 0; // places that it may have
    std::uint64_t each_place = 0;   // bytes that one takes
    // How many it had first, and bytes to compute for these, and for all that it may have.
    std::uint32_t first_streams = 0;
    std::uint64_t first_compute = 0;
    std::uint64_t most_compute = 0;
    std::uint64_t host = 0;   // bytes of the machine's memory, where those that count are a device's
    std::uint64_t least = 0;  // bytes that it needs to answer at all
    std::int64_t used_at = 0; // when it was asked for last
    bool may_shrink = false;  // somebody who waits for it would have it smaller
    std::uint64_t lacks = 0;  // bytes that must be free before it goes on; 0: none
    std::uint64_t leaves = 0; // bytes that it gives back, while it dozes off
    LoadPlan fit;             // what was tried for it last

    std::uint64_t bytes() const noexcept {
        auto sum = claims.weights.bytes() + claims.kv.bytes() + claims.compute.bytes();
        for (const auto* all : {&adapters, &retired}) {
            for (const auto& adapter : *all) {
                sum += adapter->claim.bytes();
            }
        }
        return sum;
    }
    // That its adapters take, also while it is evicted.
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
    // To have one place, where it has none.
    std::uint64_t first_place() const noexcept { return compute_for(1) + each_place; }
    // Whether it was never loaded.
    bool is_new() const noexcept { return most_streams == 0; }
};

class Registry {
public:
    // The model under that id that answers, or will; or null.
    ModelEntry* find(std::string_view id) noexcept;

    // Makes room for one more, so that add() cannot fail.
    void reserve() { entries_.reserve(entries_.size() + 1); }
    void add(std::unique_ptr<ModelEntry> entry) noexcept { entries_.push_back(std::move(entry)); }

    // Forgets a model that is gone.
    void remove(ModelEntry& entry);

    const std::vector<std::unique_ptr<ModelEntry>>& entries() const noexcept { return entries_; }

    // Takes a new picture of the models that answer, for list(). Without memory: an empty one.
    void publish() noexcept;

    // The models that answer, as JSON. Any thread.
    std::string list() const;
    // All there are: what they are doing, and how many places they have. Likewise.
    std::string states() const;

private:
    std::vector<std::unique_ptr<ModelEntry>> entries_;
    mutable std::mutex mutex_; // guards the pictures; never held by the compute thread
    std::string picture_ = "[]";
    std::string states_ = "[]";
};

} // namespace sotto
