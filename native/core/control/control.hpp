// The control thread: reads requests, schedules jobs and emits events. Other threads pass it notes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/mpsc_queue.hpp"
#include "core/control/adapter_changes.hpp"
#include "core/control/admission.hpp"
#include "core/control/compute.hpp"
#include "core/control/device_evacuation.hpp"
#include "core/control/device_moves.hpp"
#include "core/control/duty_policy.hpp"
#include "core/control/idle_models.hpp"
#include "core/control/incoming_requests.hpp"
#include "core/control/job_starter.hpp"
#include "core/control/memory_manager.hpp"
#include "core/control/model_manager.hpp"
#include "core/control/model_resizer.hpp"
#include "core/control/preparing.hpp"
#include "core/control/request_ender.hpp"
#include "core/control/slice_log.hpp"
#include "core/control/slot_pins.hpp"
#include "core/control/stall_watch.hpp"
#include "core/control/state_fetches.hpp"
#include "core/control/state_files.hpp"
#include "core/control/stats_publisher.hpp"
#include "core/control/step_runner.hpp"
#include "core/control/stream_preparer.hpp"
#include "core/control/stream_results.hpp"
#include "core/control/stream_table.hpp"
#include "core/control/teller.hpp"
#include "core/control/thread_class_policy.hpp"
#include "core/memory/ledger.hpp"
#include "core/model/device_manager.hpp"
#include "core/model/registry.hpp"
#include "core/request/event_queue.hpp"
#include "core/request/request_table.hpp"
#include "core/schedule/frame.hpp"
#include "core/schedule/scheduler.hpp"
#include "core/session/sessions.hpp"
#include "core/settings.hpp"
#include "core/state/kv_state_store.hpp"
#include "core/telemetry/meter.hpp"
#include "core/telemetry/recorder.hpp"
#include "core/telemetry/trace.hpp"

namespace sotto {

class Control {
public:
    // Objects that Control uses. All of them outlive it.
    struct World {
        const Hooks& hooks;
        const Settings& settings;
        const Frames& frames;
        Clock& clock;
        DeviceManager& card;
        RequestTable& table;
        EventQueue& queue;
        Registry& registry;
        Trace& trace;
        Meter& meter;
        Recorder& recorder;
        Ledger& ledger;
        KvStateStore& parking;
    };

    explicit Control(const World& world);
    // Cancels all requests, frees the models and ends the threads.
    ~Control();

    // Posts a note to the control thread. Never blocks.
    void post(Note& note) noexcept;
    // Cancels loading, as the engine is about to be destroyed.
    void give_up_loading() noexcept { models_.give_up_loading(); }
    // Wakes the control thread, because something that it checks has changed.
    void wake() noexcept { signal_.notify(); }
    // Evicts all models from the shared device, and waits
    // until they have left it. One thread at a time.
    void leave_card() noexcept { moves_.leave(); }
    // Called when a shared device is attached: idle models that can use it move to it.
    void come_to_card() noexcept { moves_.come(); }
    // Called when the target tokens per second of a request have changed.
    void retune() noexcept { retuned_ = true; }

private:
    void run();
    bool work();
    std::int64_t next_wake();

    bool take_notes();
    void submitted(Slot& slot);
    void cancelled(Slot& slot) noexcept;
    void answer(Slot& slot);
    void answer(Slot& slot, Prompted prompted);
    void warn_of(const std::vector<std::string>& unknown);
    void proceed(Incoming& incoming);
    bool take_incoming() noexcept;
    void finish_incoming(Incoming& incoming) noexcept;
    bool take_prepared() noexcept;
    bool take_files() noexcept;
    void file_done(Slot& slot, StateTask& task) noexcept;
    void take_paces() noexcept;
    void leave_all() noexcept;

    bool start_job();
    bool start_closing();
    bool awaits_fetch(const Slice& slice);
    bool has_thread_for(const Slice& slice) noexcept;
    void look_ahead() noexcept;
    bool take_job_back() noexcept;
    void raise_job() noexcept;
    void sweep() noexcept;

    const World world_;
    Signal signal_;
    MpscQueue<Note> notes_;
    Teller teller_;
    Sessions sessions_;
    Scheduler scheduler_;
    StreamTable streams_;
    SlotPins pins_;
    AdapterChanges adapters_;
    SliceLog slices_;
    StatsPublisher stats_;
    std::atomic<bool> retuned_{false};

    std::atomic<bool> stopping_{false};
    bool leaving_ = false; // the control thread has seen stopping_
    StallWatch stalls_;
    bool stuck_ = false;                  // no job could start, for lack of memory
    std::set<std::string> warned_fields_; // ignored request fields, each logged once
    DeviceMoves moves_;
    Compute compute_;
    ThreadClassPolicy classes_;
    DutyPolicy duty_;
    StepRunner runner_;
    PreparingThreads preparing_;
    IncomingRequests incoming_;
    StreamPreparer preparer_;
    StateFiles files_;
    StateFetches fetches_;
    RequestEnder ender_;
    IdleModels idle_;
    ModelManager models_;
    DeviceEvacuation evacuation_;
    JobStarter jobs_;
    StreamResults results_;
    ModelResizer resizer_;
    Admission admission_;
    MemoryManager memory_;
    std::thread thread_;
};

} // namespace sotto
