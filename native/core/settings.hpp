// What a host asked of an engine, and what it may change while that runs.
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
#include "platform/clock.hpp"
#include "platform/thread.hpp"

namespace sotto {

// What threads of an engine that was destroyed without them may still look at.
struct Outlives {
    HookGate gate;
    std::atomic<bool> has_yielding_threads{false}; // ever: of the idle class, or of a lower priority
};

// The host's hooks, their structs copied. Absent: the engine does without.
struct Hooks {
    Log log;
    std::optional<sotto_file_access> files;
    std::optional<sotto_memory_report> memory;
    std::optional<sotto_profiler> profiler;
    sotto_threads threads{};
    std::string thread_name = "sotto";
    CoreSet cores; // of compute threads; empty: all
    std::shared_ptr<Outlives> outlives = std::make_shared<Outlives>();

    // Names the calling thread, and lets the host look at it.
    void thread_started(const std::string& role) const;
};

// A stretch of work that the host's profiler sees.
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
    std::string device = "cpu"; // where models run; "auto": see with_device()
    std::string device_reason;  // of the choice that "auto" was; empty: it was none
    sotto_mode mode = SOTTO_MODE_BALANCE;
    std::uint64_t vram_budget = 0;
    float target_tps = 0;
    std::uint32_t trace = 0; // slices kept
    sotto_engine_flags flags = 0;
    std::uint32_t max_requests = 0;     // 0: as many as can be
    std::string record;                 // where decisions are written down; empty: nowhere
    std::filesystem::path kv_spill_dir; // for what is parked; empty: the system's temporary folder
    std::uint64_t kv_spill_memory = std::uint64_t{64} << 20; // bytes of it that may be in memory
    std::optional<gpu::Renderer> renderer;                   // to share a card with
    std::filesystem::path cuda_driver;                       // its file; empty: the system's
    Hooks hooks;
    Clock* clock = &system_clock();
};

struct Settings {
    Settings() = default;
    explicit Settings(const EngineOptions& options)
        : mode(options.mode), target_tps(options.target_tps), flags(options.flags) {}

    std::atomic<sotto_mode> mode{SOTTO_MODE_BALANCE};
    std::atomic<float> target_tps{0};
    sotto_engine_flags flags = 0;

    bool is(sotto_engine_flags flag) const noexcept { return (flags & flag) != 0; }
    // Returns true if models come before the game.
    bool prioritizes_compute() const noexcept { return mode.load() == SOTTO_MODE_PRIORITIZE_COMPUTE; }
};

} // namespace sotto
