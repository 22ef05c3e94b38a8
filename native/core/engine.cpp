#include "core/engine.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "core/memory/report.hpp"
#include "platform/cpu.hpp"
#include "platform/thread.hpp"
#include "text/ordered_json.hpp"

namespace sotto {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;

// Waits until it is told, until a deadline, or so many nanoseconds.
void wait_until(Signal& signal, std::uint32_t seen, std::int64_t deadline, std::int64_t at_most) noexcept {
    const auto now = system_clock().now();
    const auto due = at_most < kNever - now ? now + std::max<std::int64_t>(at_most, 0) : kNever;
    system_clock().wait(signal, seen, std::min(deadline, due));
}

std::int64_t deadline_after(std::int32_t timeout_ms) noexcept {
    return timeout_ms < 0 ? kNever : system_clock().now() + timeout_ms * kMillisecond;
}

const Settings& with(Settings& settings, const EngineOptions& options) noexcept {
    settings.mode = options.mode;
    settings.target_tps = options.target_tps;
    settings.flags = options.flags;
    return settings;
}

const char* mode_name(sotto_mode mode) noexcept {
    switch (mode) {
    case SOTTO_MODE_PRIORITIZE_COMPUTE:
        return "prioritize_compute";
    case SOTTO_MODE_PRIORITIZE_GRAPHICS:
        return "prioritize_graphics";
    default:
        return "balance";
    }
}

// Who hears of what is taken: the host, if it listens.
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

constexpr const char* kHost = "cpu";

Recorder& begun(Recorder& recorder, const EngineOptions& options) {
    if (!options.record.empty()) {
        recorder.open(
            options.record,
            {
                {"is", "engine"},
                {"version", SOTTO_VERSION},
                {"mode", mode_name(options.mode)},
                {"flags", options.flags},
                {"target_tps", options.target_tps},
                {"max_requests", options.max_requests},
                {"cores", usable_cores()},
            }
        );
    }
    return recorder;
}

} // namespace

Engine::Engine(EngineOptions options)
    : device_(std::move(options.device)), device_reason_(std::move(options.device_reason)),
      hooks_(std::move(options.hooks)), clock_(options.clock), trace_(options.trace), recorder_(hooks_),
      ledger_(told_of(hooks_, device_)), host_ledger_(told_of(hooks_, kHost)),
      parking_(
          device_ == kHost ? ledger_ : host_ledger_,
          std::move(options.kv_spill_dir),
          options.kv_spill_memory,
          hooks_
      ),
      modules_(std::move(options.module_dir), hooks_.log),
      card_(modules_, device_, std::move(options.cuda_driver), hooks_.log), control_(
                                                                                {hooks_,
                                                                                 with(settings_, options),
                                                                                 frames_,
                                                                                 *clock_,
                                                                                 card_,
                                                                                 table_,
                                                                                 queue_,
                                                                                 registry_,
                                                                                 trace_,
                                                                                 meter_,
                                                                                 begun(recorder_, options),
                                                                                 ledger_,
                                                                                 parking_}
                                                                            ) {
    set_vram_budget(options.vram_budget);
    if (options.max_requests != 0) {
        table_.set_most(options.max_requests);
    }
    if (options.renderer) {
        attach_gpu(*options.renderer);
    }
}

sotto_gpu_sharing Engine::attach_gpu(const gpu::Renderer& renderer) {
    const std::lock_guard lock(changing_card_);
    const auto rung = card_.attach(renderer);
    control_.come_to_card();
    return rung;
}

bool Engine::detach_gpu() {
    const std::lock_guard lock(changing_card_);
    if (!card_.begin_to_leave()) {
        return false;
    }
    control_.leave_card();
    card_.leave();
    return true;
}

sotto_request Engine::submit(Asked asked) {
    Slot* slot = table_.add(std::move(asked), clock_->now());
    if (slot == nullptr) {
        throw Error(
            SOTTO_ERROR_BUSY,
            std::to_string(table_.most()) + " requests are live, the maximum: take the events of some first"
        );
    }
    const auto id = slot->id.load();
    control_.post(slot->submit);
    return id;
}

bool Engine::cancel(sotto_request id) noexcept {
    Slot* slot = table_.acquire(id);
    if (slot == nullptr) {
        return false;
    }
    const bool live = !slot->ended.load();
    slot->cancelled = true;
    if (!live || slot->cancel_noted.exchange(true)) {
        table_.release(*slot);
    } else {
        control_.post(slot->cancel); // with the reference, which the control thread releases
    }
    return live;
}

bool Engine::drop(sotto_request id) {
    Slot* slot = table_.acquire(id);
    if (slot == nullptr) {
        return false;
    }
    if (!is_private(*slot)) {
        table_.release(*slot);
        throw Error(
            SOTTO_ERROR_STATE,
            invalid("request", std::to_string(id), "a private request; cancel the request instead")
        );
    }
    const bool first = !slot->dropped.exchange(true) && !slot->over.exchange(true);
    if (first) {
        cancel(id);
        slot->arrived.notify();
        table_.release(*slot); // the host's reference
    }
    table_.release(*slot);
    return first;
}

sotto_status Engine::wait(std::int32_t timeout_ms) noexcept {
    const auto deadline = deadline_after(timeout_ms);
    for (;;) {
        const auto seen = queue_.arrived().value();
        if (closed_.load()) {
            return SOTTO_ERROR_CANCELLED;
        }
        auto due = kNever;
        const auto now = clock_->now();
        if (queue_.has(now, due)) {
            return SOTTO_OK;
        }
        if (deadline <= system_clock().now()) {
            return SOTTO_EMPTY;
        }
        wait_until(queue_.arrived(), seen, deadline, due == kNever ? kNever : std::max(due, now) - now);
    }
}

sotto_status Engine::wait_event(sotto_request id, std::int32_t timeout_ms, std::unique_ptr<Event>& event) {
    constexpr const char* kUnknown = "': it has ended, or was never submitted";
    Slot* slot = table_.acquire(id);
    if (slot == nullptr) {
        throw Error(SOTTO_ERROR_NOT_FOUND, "invalid request '" + std::to_string(id) + kUnknown);
    }
    sotto_status status = SOTTO_ERROR_STATE;
    const char* why = "': expected a private request; take its events with sotto_engine_next_event()";
    if (is_private(*slot) && slot->taking.test_and_set(std::memory_order_acquire)) {
        why = "': another thread waits for its events; wait on one thread";
    } else if (is_private(*slot)) {
        const bool over = slot->over.load();
        status = over ? SOTTO_ERROR_NOT_FOUND : take_private(*slot, deadline_after(timeout_ms), event);
        why = over ? kUnknown : "': it was discarded, or the engine was destroyed";
        slot->taking.clear(std::memory_order_release);
    }
    const bool last =
        status == SOTTO_OK && event->kind == SOTTO_EVENT_REQUEST_DONE && !slot->over.exchange(true);
    if (last) {
        table_.release(*slot); // the host's reference
    }
    table_.release(*slot);
    if (status < 0) {
        throw Error(status, "invalid request '" + std::to_string(id) + why);
    }
    return status;
}

sotto_status Engine::take_private(Slot& slot, std::int64_t deadline, std::unique_ptr<Event>& event) {
    for (;;) {
        const auto seen = slot.arrived.value();
        if (slot.dropped.load() || closed_.load()) {
            return SOTTO_ERROR_CANCELLED;
        }
        MpscQueue<Event> unwanted;
        while (Event* come = slot.events.pop()) {
            slot.release.admit(come, unwanted);
        }
        while (Event* left = unwanted.pop()) {
            delete left;
        }
        const auto now = clock_->now();
        event.reset(slot.release.next(now));
        if (event != nullptr) {
            return SOTTO_OK;
        }
        if (deadline <= system_clock().now()) {
            return SOTTO_EMPTY;
        }
        const auto due = slot.release.wake();
        wait_until(slot.arrived, seen, deadline, due == kNever ? kNever : std::max(due, now) - now);
    }
}

void Engine::set_mode(sotto_mode mode) noexcept {
    settings_.mode = mode;
}

void Engine::set_vram_budget(std::uint64_t bytes) noexcept {
    ledger_.set_ceiling(bytes);
    control_.wake();
}

void Engine::set_target_tps(float tps) noexcept {
    settings_.target_tps = tps;
    retuned();
}

bool Engine::set_request_tps(sotto_request id, float tps) noexcept {
    Slot* slot = table_.acquire(id);
    if (slot == nullptr) {
        return false;
    }
    const bool live = !slot->ended.load();
    slot->target_tps.store(tps, std::memory_order_relaxed);
    table_.release(*slot);
    control_.retune();
    retuned();
    return live;
}

// Those who wait for events look again when they are due.
void Engine::retuned() noexcept {
    control_.wake();
    queue_.arrived().notify();
    table_.wake_all();
}

sotto_stats Engine::stats() noexcept {
    auto stats = meter_.read(frames_, clock_->now());
    stats.mode = settings_.mode.load();
    stats.live = table_.live();
    stats.bytes_in_use = ledger_.used();
    stats.vram_budget = ledger_.ceiling();
    stats.bytes_peak = ledger_.peak();
    stats.bytes_weights = ledger_.used(Use::weights);
    stats.bytes_kv = ledger_.used(Use::kv);
    stats.bytes_compute = ledger_.used(Use::compute);
    stats.bytes_parked = ledger_.used(Use::spilled_kv) + host_ledger_.used(Use::spilled_kv);
    return stats;
}

void Engine::close() noexcept {
    closed_ = true;
    control_.give_up_loading(); // whoever detaches may wait for that
    queue_.arrived().notify();
    table_.wake_all();
}

std::string Engine::memory() const {
    return memory_json(ledger_, parking_, registry_.states(), device_);
}

std::string Engine::describe() {
    std::vector<const Backend*> backends;
    std::vector<Modules::PassedOver> passed_over;
    modules_.list(backends, passed_over);
    auto known = Ordered::array();
    for (const Backend* backend : backends) {
        auto details = try_parse_ordered(backend->description());
        auto uses = Ordered::array();
        if (backend->uses(SOTTO_BACKEND_CUDA)) {
            uses.push_back("cuda");
        }
        known.push_back(
            {{"name", backend->name()},
             {"uses", uses},
             {"details", details.is_object() ? details : Ordered::object()}}
        );
    }
    auto passed = Ordered::array();
    for (const auto& one : passed_over) {
        passed.push_back({{"path", one.path}, {"reason", one.why}});
    }
    const auto frames = frames_.report();
    const auto lost = card_.lost();
    const Ordered all = {
        {"version", SOTTO_VERSION},
        {"device", device_},
        {"device_reason", device_reason_.empty() ? Ordered() : Ordered(device_reason_)},
        {"gpu", card_.describe()},
        {"device_lost", lost.empty() ? Ordered() : Ordered(lost)},
        {"cpu", {{"x86_64_level", x86_64_level()}, {"cores", usable_cores()}}},
        {"mode", mode_name(settings_.mode)},
        {"target_tps", settings_.target_tps.load()},
        {"vram_budget", ledger_.ceiling()},
        {"bytes_in_use", ledger_.used()},
        {"backends", known},
        {"modules_passed_over", passed},
        {"frames",
         {{"begun", frames.begun},
          {"ended", frames.ended},
          {"period_ms", static_cast<double>(frames.period_ns) / kMillisecond},
          {"busy_ms", frames.busy_ms},
          {"gpu_ms", frames.gpu_ms}}},
    };
    return to_text(all);
}

} // namespace sotto
