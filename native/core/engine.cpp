#include "core/engine.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "platform/cpu.hpp"
#include "platform/thread.hpp"
#include "text/ordered_json.hpp"

namespace sotto {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;

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

Json described(const EngineOptions& options) {
    return {
        {"is", "engine"},
        {"version", SOTTO_VERSION},
        {"mode", mode_name(options.mode)},
        {"flags", options.flags},
        {"target_tps", options.target_tps},
        {"max_requests", options.max_requests},
        {"cores", usable_cores()},
    };
}

} // namespace

Engine::Engine(EngineOptions options)
    : hooks_(std::move(options.hooks)), clock_(options.clock), settings_(options),
      telemetry_(options.trace, hooks_), requests_(*clock_, [this](Note& note) { control_->post(note); }),
      memory_(options, hooks_), devices_(options, hooks_.log) {
    if (!options.record.empty()) {
        telemetry_.recorder.open(options.record, described(options));
    }
    memory_.ledger().set_ceiling(options.vram_budget);
    if (options.max_requests != 0) {
        requests_.table().set_most(options.max_requests);
    }
    start_control();
    if (options.renderer) {
        attach_gpu(*options.renderer);
    }
}

void Engine::start_control() {
    control_.emplace(
        World{
            .hooks = hooks_,
            .settings = settings_,
            .frames = frames_,
            .clock = *clock_,
            .devices = devices_.manager,
            .table = requests_.table(),
            .queue = requests_.events(),
            .registry = registry_,
            .trace = telemetry_.trace,
            .meter = telemetry_.meter,
            .recorder = telemetry_.recorder,
            .ledger = memory_.ledger(),
            .host_ledger = memory_.host_ledger(),
            .kv_states = memory_.kv_states(),
            .waker = devices_.modules.waker(),
        }
    );
}

sotto_gpu_sharing Engine::attach_gpu(const gpu::Renderer& renderer) {
    const std::lock_guard lock(changing_device_);
    const auto rung = devices_.manager.attach(renderer);
    control_->use_device();
    return rung;
}

bool Engine::detach_gpu() {
    const std::lock_guard lock(changing_device_);
    if (!devices_.manager.begin_to_leave()) {
        return false;
    }
    control_->leave_device();
    devices_.manager.leave();
    return true;
}

void Engine::set_mode(sotto_mode mode) noexcept {
    settings_.mode = mode;
}

void Engine::set_vram_budget(std::uint64_t bytes) noexcept {
    memory_.ledger().set_ceiling(bytes);
    control_->wake();
}

void Engine::set_target_tps(float tps) noexcept {
    settings_.target_tps = tps;
    retuned();
}

bool Engine::set_request_tps(sotto_request id, float tps) noexcept {
    const bool live = requests_.set_tps(id, tps);
    control_->retune();
    retuned();
    return live;
}

// Wakes threads that wait for events: the due times of paced events changed.
void Engine::retuned() noexcept {
    control_->wake();
    requests_.wake_all();
}

sotto_stats Engine::stats() noexcept {
    auto stats = telemetry_.meter.read(frames_, clock_->now());
    stats.mode = settings_.mode.load();
    stats.live = requests_.table().live();
    memory_.add_to(stats);
    return stats;
}

void Engine::close() noexcept {
    control_->give_up_loading(); // detach_gpu() on another thread may wait for a load
    requests_.close();
}

std::string Engine::memory() const {
    return memory_.report(registry_.states());
}

std::string Engine::describe() {
    std::vector<const Backend*> backends;
    std::vector<Modules::PassedOver> passed_over;
    devices_.modules.list(backends, passed_over);
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
    const auto lost = devices_.manager.lost();
    const Ordered all = {
        {"version", SOTTO_VERSION},
        {"device", devices_.name},
        {"device_reason", devices_.reason.empty() ? Ordered() : Ordered(devices_.reason)},
        {"gpu", devices_.manager.describe()},
        {"device_lost", lost.empty() ? Ordered() : Ordered(lost)},
        {"cpu", {{"x86_64_level", x86_64_level()}, {"cores", usable_cores()}}},
        {"mode", mode_name(settings_.mode)},
        {"target_tps", settings_.target_tps.load()},
        {"vram_budget", memory_.ledger().ceiling()},
        {"bytes_in_use", memory_.ledger().used()},
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
