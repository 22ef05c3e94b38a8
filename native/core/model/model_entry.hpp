// A model of an engine. Its data is grouped by the thread that owns it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/mpsc_queue.hpp"
#include "core/memory/ledger.hpp"
#include "core/model/adapters.hpp"
#include "core/model/device_numbers.hpp"
#include "core/model/load_plan.hpp"
#include "core/model/loaded_info.hpp"
#include "core/model/loader_state.hpp"
#include "core/model/model_slots.hpp"
#include "core/request/request_table.hpp"
#include "core/schedule/scheduled.hpp"
#include "module/backend.hpp"

namespace sotto {

// A request held back until its model has memory.
struct HeldRequest {
    Slot* slot = nullptr;
    bool waits = true; // false: fails (on_budget=fail) if only busy models could free memory
};

// Requests that use a model, or wait for it. Control thread only.
struct ModelRequests {
    std::vector<Slot*> waiting;    // requests notified once loaded, planned or removed
    std::vector<HeldRequest> held; // requests to execute once the model has memory
    std::size_t streams = 0;       // active and queued answers
    std::uint32_t preparing = 0;   // requests on preparing threads
    std::int64_t used_at = 0;      // time of the last request
};

// Memory that a model waits for. Control thread only.
struct MemoryNeed {
    std::uint64_t bytes = 0; // bytes that must be free before loading continues; 0: none
    bool may_shrink = false; // a waiting request accepts a smaller model
    LoadPlan plan;           // last load plan
};

// Memory charged to a model, without its adapters.
struct Claims {
    Ledger::Claim weights;
    Ledger::Claim kv;
    Ledger::Claim compute;

    std::uint64_t bytes() const noexcept { return weights.bytes() + kv.bytes() + compute.bytes(); }
};

// Compute thread only.
struct ComputeState {
    std::uint32_t idle_steps = 0; // consecutive steps without work
};

// One model. Control thread only, unless a comment says otherwise.
struct ModelEntry : MpscNode, ScheduledModel {
    explicit ModelEntry(const Submission& how) : submission(how) {}

    enum class State : std::uint8_t {
        loading, // or waiting for memory to load
        ready,
        evicting,
        evicted, // to free memory; reloaded on the next request
        leaving,
        planning // only measured, never loaded
    };

    const Submission submission; // load request
    State state = State::loading;
    std::unique_ptr<Model> model;        // set once ready; created and freed by the loader
    std::atomic<DeviceNumber> device{0}; // of the model or its running load; written by the loader
    LoaderState loader;
    Claims claims;        // owned by the loader while loader.owns is true
    AdapterList adapters; // the loader owns `loaded` and `retired` while loader.owns is true
    ModelRequests requests;
    ModelSlots slots;
    LoadedInfo loaded;
    MemoryNeed need;
    ComputeState compute;

    // Returns the bytes charged to the model and its adapters.
    std::uint64_t bytes() const noexcept { return claims.bytes() + adapters.charged(); }
    // Returns true if the model was never loaded.
    bool is_new() const noexcept { return loaded.max_slots == 0; }
};

} // namespace sotto
