// The engine's objects that the control thread uses.
#pragma once

#include "core/memory/ledger.hpp"
#include "core/model/device_manager.hpp"
#include "core/model/registry.hpp"
#include "core/request/event_queue.hpp"
#include "core/request/request_table.hpp"
#include "core/schedule/frame.hpp"
#include "core/settings.hpp"
#include "core/state/kv_state_store.hpp"
#include "core/telemetry/meter.hpp"
#include "core/telemetry/recorder.hpp"
#include "core/telemetry/trace.hpp"
#include "module/waker.hpp"

namespace sotto {

// Passed to constructors of the control thread's classes, each of which keeps references
// only to the objects that it uses. All of the objects outlive the control thread.
struct World {
    const Hooks& hooks;
    const Settings& settings;
    const Frames& frames;
    Clock& clock;
    DeviceManager& devices;
    RequestTable& table;
    EventQueue& queue;
    Registry& registry;
    Trace& trace;
    Meter& meter;
    Recorder& recorder;
    Ledger& ledger;      // of the engine's device
    Ledger& host_ledger; // of host memory: `ledger`, if the device is the CPU
    KvStateStore& kv_states;
    Waker& waker;
};

} // namespace sotto
