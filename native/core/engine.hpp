// The engine behind the C ABI, in plain C++20. Any thread may call any function.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/control/control.hpp"
#include "core/engine_memory.hpp"
#include "core/model/devices.hpp"
#include "core/model/registry.hpp"
#include "core/request/host_requests.hpp"
#include "core/schedule/frame.hpp"
#include "core/settings.hpp"
#include "core/telemetry/telemetry.hpp"

namespace sotto {

class Engine {
public:
    explicit Engine(EngineOptions options);
    // Destroys an engine. Call after close(), once no other thread uses the engine. Threads that do not
    // end within about 100 ms are detached where that is safe, and end by themselves.
    static void end(std::unique_ptr<Engine> engine) noexcept;

    HostRequests& requests() noexcept { return requests_; }

    void set_mode(sotto_mode mode) noexcept;
    void set_vram_budget(std::uint64_t bytes) noexcept;
    void set_target_tps(float tps) noexcept;
    // See sotto_engine_set_request_tps().
    bool set_request_tps(sotto_request id, float tps) noexcept;
    // Returns the current statistics. Never blocks.
    sotto_stats stats() noexcept;
    void add_backend(const sotto_backend& table) { devices_.modules.add(table); }
    // See sotto_engine_attach_gpu() and sotto_engine_detach_gpu(); each waits while the other
    // runs on another thread.
    sotto_gpu_sharing attach_gpu(const gpu::Renderer& renderer);
    bool detach_gpu();
    Frames& frames() noexcept { return frames_; }
    Trace& trace() noexcept { return telemetry_.trace; }
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

    const Hooks hooks_;
    Clock* const clock_;
    Settings settings_;
    Frames frames_;
    Telemetry telemetry_;
    HostRequests requests_;
    Registry registry_;
    EngineMemory memory_;
    Devices devices_;
    std::mutex changing_device_;     // held during attach_gpu() and detach_gpu()
    std::optional<Control> control_; // set at the end of the constructor
};

} // namespace sotto
