// The engine behind the C ABI, in plain C++20. Any thread may call any function.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/control/control.hpp"
#include "core/memory/ledger.hpp"
#include "core/model/device_manager.hpp"
#include "core/model/registry.hpp"
#include "core/request/host_requests.hpp"
#include "core/schedule/frame.hpp"
#include "core/settings.hpp"
#include "core/state/kv_state_store.hpp"
#include "core/telemetry/meter.hpp"
#include "core/telemetry/recorder.hpp"
#include "core/telemetry/trace.hpp"
#include "module/modules.hpp"

namespace sotto {

class Engine {
public:
    explicit Engine(EngineOptions options);
    // Destroys an engine after close() that no other thread uses. Threads that do not end within
    // about 100 ms are detached where that is safe, and end by themselves.
    static void end(std::unique_ptr<Engine> engine) noexcept;

    HostRequests& requests() noexcept { return requests_; }

    void set_mode(sotto_mode mode) noexcept;
    void set_vram_budget(std::uint64_t bytes) noexcept;
    void set_target_tps(float tps) noexcept;
    // See sotto_engine_set_request_tps().
    bool set_request_tps(sotto_request id, float tps) noexcept;
    // Never blocks.
    sotto_stats stats() noexcept;
    void add_backend(const sotto_backend& table) { modules_.add(table); }
    // See sotto_engine_attach_gpu() and sotto_engine_detach_gpu(); the two may wait for each other.
    sotto_gpu_sharing attach_gpu(const gpu::Renderer& renderer);
    bool detach_gpu();
    Frames& frames() noexcept { return frames_; }
    Trace& trace() noexcept { return trace_; }
    const Clock& clock() const noexcept { return *clock_; }

    std::string describe();
    std::string list_models() const { return registry_.list(); }
    // See sotto_engine_memory().
    std::string memory() const;

    // Wakes all threads that wait in this engine. Later waits return SOTTO_ERROR_CANCELLED.
    void close() noexcept;

private:
    bool may_be_left() const noexcept;
    void retuned() noexcept;
    void start_control();

    const std::string device_;
    const std::string device_reason_;
    const Hooks hooks_;
    Clock* const clock_;
    Settings settings_;
    Frames frames_;
    Trace trace_;
    Meter meter_;
    Recorder recorder_;
    HostRequests requests_;
    Registry registry_;
    Ledger ledger_;
    // Host memory, where ledger_ counts the memory of a device. Without a ceiling.
    Ledger host_ledger_;
    KvStateStore parking_;
    Modules modules_;
    DeviceManager card_;
    std::mutex changing_card_;       // held during attach_gpu() and detach_gpu()
    std::optional<Control> control_; // set at the end of the constructor
};

} // namespace sotto
