// Options of an engine, and the settings that may change while it runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <sotto/engine.h>

#include "base/hook_gate.hpp"
#include "base/log.hpp"
#include "gpu/sharing.hpp"
#include "guard/guard.hpp"
#include "platform/clock.hpp"
#include "platform/thread.hpp"

namespace sotto {

// State that detached threads may still use after their engine was destroyed.
struct Outlives {
    HookGate gate;
    // True once a thread of the idle class or of a lower priority was started
    std::atomic<bool> has_yielding_threads{false};
};

// Copies of the host's hooks. Absent hooks are not called.
struct Hooks {
    Log log;
    std::optional<sotto_file_access> files;
    std::optional<sotto_memory_report> memory;
    std::optional<sotto_profiler> profiler;
    sotto_threads threads{};
    std::string thread_name = "sotto";
    CoreSet cores; // cores of compute threads; empty: all
    std::shared_ptr<Outlives> outlives = std::make_shared<Outlives>();

    // Sets the calling thread's name and calls the host's thread-start hook; does neither if memory for the
    // name is lacking.
    void thread_started(const std::string& role) const noexcept;
};

// A zone in the host's profiler, which lasts from construction to destruction.
class Zone {
public:
    Zone(const Hooks& hooks, const char* name);
    ~Zone();
    Zone(const Zone&) = delete;
    Zone& operator=(const Zone&) = delete;

private:
    const Hooks& hooks_;
    bool begun_ = false;
};

struct EngineOptions {
    std::filesystem::path module_dir;
    std::string device = "cpu"; // device of models; "auto": see with_device()
    std::string device_reason;  // why "auto" chose the device; empty: not "auto"
    sotto_mode mode = SOTTO_MODE_BALANCE;
    std::uint64_t vram_budget = 0;
    float target_tps = 0;
    std::uint32_t trace = 0; // capacity of the trace in slices
    sotto_engine_flags flags = 0;
    std::shared_ptr<const guard::Guard> guard; // checks requests and answers; null: none
    std::uint32_t max_requests = 0;            // maximum live requests; 0: RequestTable::kMaxRequests
    std::string record;                        // path of the recording; empty: none
    // Folder for spilled KV cache states; empty: the system's temporary folder
    std::filesystem::path kv_spill_dir;
    // Maximum bytes of saved KV cache states in memory; further states go to kv_spill_dir
    std::uint64_t kv_spill_memory = std::uint64_t{64} << 20;
    std::optional<gpu::Renderer> renderer; // renderer to share a GPU with
    std::filesystem::path cuda_driver;     // driver file; empty: the system's
    Hooks hooks;
    Clock* clock = &system_clock();
};

struct Settings {
    Settings() = default;
    explicit Settings(const EngineOptions& options)
        : mode(options.mode), target_tps(options.target_tps), flags(options.flags), guard(options.guard) {}

    std::atomic<sotto_mode> mode{SOTTO_MODE_BALANCE};
    std::atomic<float> target_tps{0};
    sotto_engine_flags flags = 0;
    std::shared_ptr<const guard::Guard> guard;

    bool is(sotto_engine_flags flag) const noexcept { return (flags & flag) != 0; }
    // Returns true if models take precedence over the game.
    bool prioritizes_compute() const noexcept { return mode.load() == SOTTO_MODE_PRIORITIZE_COMPUTE; }
};

} // namespace sotto
