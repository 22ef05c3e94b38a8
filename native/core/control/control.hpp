// The thread that reads requests, decides, and hands out events. Everything else passes it notes.
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
#include "core/control/compute.hpp"
#include "core/control/device_moves.hpp"
#include "core/control/duty_policy.hpp"
#include "core/control/incoming_requests.hpp"
#include "core/control/preparing.hpp"
#include "core/control/slice_log.hpp"
#include "core/control/slot_pins.hpp"
#include "core/control/stall_watch.hpp"
#include "core/control/state_fetches.hpp"
#include "core/control/state_files.hpp"
#include "core/control/stats_publisher.hpp"
#include "core/control/step_runner.hpp"
#include "core/control/stream_preparer.hpp"
#include "core/control/stream_table.hpp"
#include "core/control/teller.hpp"
#include "core/control/thread_class_policy.hpp"
#include "core/memory/ledger.hpp"
#include "core/model/card.hpp"
#include "core/model/model_loader.hpp"
#include "core/model/registry.hpp"
#include "core/request/event_queue.hpp"
#include "core/request/request_table.hpp"
#include "core/schedule/frame.hpp"
#include "core/schedule/scheduler.hpp"
#include "core/session/sessions.hpp"
#include "core/settings.hpp"
#include "core/state/parking.hpp"
#include "core/state/tidier.hpp"
#include "core/telemetry/meter.hpp"
#include "core/telemetry/recorder.hpp"
#include "core/telemetry/trace.hpp"

namespace sotto {

class Control {
public:
    // What it works on, all of which outlives it.
    struct World {
        const Hooks& hooks;
        const Settings& settings;
        const Frames& frames;
        Clock& clock;
        Card& card;
        RequestTable& table;
        EventQueue& queue;
        Registry& registry;
        Trace& trace;
        Meter& meter;
        Recorder& recorder;
        Ledger& ledger;
        Parking& parking;
    };

    explicit Control(const World& world);
    // Cancels what runs, frees the models, ends the threads.
    ~Control();

    // Hands over a note. Never waits.
    void post(Note& note) noexcept;
    // Gives up what is being loaded, as the engine is about to be destroyed.
    void give_up_loading() noexcept { loader_.give_up(); }
    // Says that something it looks at has changed.
    void wake() noexcept { signal_.notify(); }
    // Takes every model off the card, and waits for that. No other thread may be in here.
    void leave_card() noexcept { moves_.leave(); }
    // Says that there is a card for models that could use one.
    void come_to_card() noexcept { moves_.come(); }
    // Says that a request was given another pace.
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
    void load(Slot& slot);
    void unload(Slot& slot);
    void plan(Slot& slot);
    void begin_loading(Slot& slot, ModelEntry::State state, ModelEntry* given_up);
    void leave(ModelEntry& entry, std::string_view why) noexcept;
    void leave_all() noexcept;
    void hand_to_loader(ModelEntry& entry) noexcept;
    void free_idle_leavers() noexcept;

    void proceed(Incoming& incoming);
    bool take_incoming() noexcept;
    void finish_incoming(Incoming& incoming) noexcept;
    bool take_prepared() noexcept;

    bool take_loader_notes() noexcept;
    void tell_progress(ModelEntry& entry, float progress) noexcept;
    void came_back(ModelEntry& entry, LoaderNote::Kind kind, const Failure& failure) noexcept;
    void loaded(ModelEntry& entry) noexcept;
    static void learn_places(ModelEntry& entry) noexcept;
    void planned(ModelEntry& entry) noexcept;
    void refuse(ModelEntry& entry, sotto_status status, std::string_view why) noexcept;
    void gone(ModelEntry& entry, sotto_status status, std::string_view why) noexcept;

    bool keep_budget();
    bool gives_up_all(const ModelEntry& entry) const noexcept;
    bool must_hold(const ModelEntry& entry) const noexcept;
    void hold(Slot& slot, ModelEntry& entry, OnBudget on_budget);
    std::string lack_told(const ModelEntry& entry) const;
    bool admit(ModelEntry& entry);
    bool go_on(ModelEntry& entry);
    bool grow(ModelEntry& entry);
    bool give_way(std::uint64_t bytes, ModelEntry* whom);
    bool is_out_of_reach(std::uint64_t bytes, const ModelEntry& whom) const noexcept;
    bool lack_in_vain(ModelEntry& whom);
    bool refuse_impatient(ModelEntry& entry);
    bool squeeze(std::uint64_t bytes, bool all);
    bool spill(std::uint64_t bytes);
    void tidy();
    bool resize(ModelEntry& entry, std::uint32_t places);
    bool claim_places(ModelEntry& entry, std::uint32_t places) noexcept;
    void resized(Job& job) noexcept;
    std::uint32_t places_for(const ModelEntry& entry) const noexcept;
    bool is_in_use(const ModelEntry& entry) const noexcept;
    bool is_idle(const ModelEntry& entry) const noexcept;
    bool is_settling() const noexcept;
    std::uint64_t idle_bytes(const ModelEntry* but) const noexcept;
    ModelEntry* idle_longest(const ModelEntry* but) const noexcept;

    bool take_off_card() noexcept;
    bool put_on_card() noexcept;
    bool is_on_card(DeviceNumber device) const noexcept;
    bool must_leave(const ModelEntry& entry) const noexcept;
    bool take_off(ModelEntry& entry, sotto_status status, const char* why) noexcept;
    bool take_off_lost() noexcept;
    bool doze(ModelEntry& entry, bool remembers) noexcept;

    bool take_files() noexcept;
    void file_done(Slot& slot, StateTask& task) noexcept;
    bool awaits_fetch(const Slice& slice);

    bool take_job_back() noexcept;
    void opened(Job& job, Stream& stream) noexcept;
    void unparked(const Job& job, Stream& stream) noexcept;
    void parked(Stream& stream) noexcept;
    void closed(const Job& job) noexcept;
    void keep(Stream& stream) noexcept;
    Parking::Kept kept_of(const Stream& stream) const noexcept;
    void forget_useless(const Job& job, const Stream& stream) noexcept;
    void stepped(Stream& stream, const sotto_step_item& work, const Heard& heard);
    void answered(Stream& stream, std::string response) noexcept;
    bool start_job();
    bool start_closing();
    bool has_thread_for(const Slice& slice) noexcept;
    std::unique_ptr<Job> job_of(ModelEntry& entry);
    std::unique_ptr<Job> job_of(const Slice& slice);
    void begin(std::unique_ptr<Job> job) noexcept;
    void look_ahead() noexcept;
    void take_paces() noexcept;
    sotto_mode mode() const noexcept { return world_.settings.mode.load(); }
    bool comes_first() const noexcept { return world_.settings.prioritizes_compute(); }
    void raise_job() noexcept;

    void fail(Stream& stream, sotto_status status, std::string_view why) noexcept;
    void conclude(Stream& stream) noexcept;
    void retire(Stream& stream) noexcept;
    void sweep() noexcept;

    const World world_;
    Signal signal_;
    MpscQueue<Note> notes_;
    Teller teller_;
    Sessions sessions_;
    Scheduler scheduler_;
    StreamTable streams_;
    SlotPins pins_;
    std::uint64_t models_ = 0; // that were ready, ever
    AdapterChanges adapters_;
    SliceLog slices_;
    StatsPublisher stats_;
    std::atomic<bool> retuned_{false};

    std::atomic<bool> stopping_{false};
    bool leaving_ = false; // stopping_ was seen
    StallWatch stalls_;
    bool stuck_ = false;                  // there was no memory to begin a job
    std::set<std::string> warned_fields_; // of requests
    DeviceMoves moves_;
    Compute compute_;
    ThreadClassPolicy classes_;
    DutyPolicy duty_;
    StepRunner runner_;
    PreparingThreads preparing_;
    IncomingRequests incoming_;
    StreamPreparer preparer_;
    ModelLoader loader_;
    Tidier tidier_;
    StateFiles files_;
    StateFetches fetches_;
    std::thread thread_;
};

} // namespace sotto
