// Engines to attach to Unity's device.
#pragma once

#include <string>

#include "shim.hpp"

namespace test {

constexpr int kPatienceMs = 60'000;

// How a request ended.
struct End {
    sotto_status status = SOTTO_OK;
    std::string error;
    std::string text;
};

// An engine with the modules of a folder, the scripted backend's by default.
class Engine {
public:
    explicit Engine(const char* modules = SOTTO_SCRIPTED);
    ~Engine() { sotto_engine_destroy(engine_); }
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    sotto_engine* get() const { return engine_; }
    // Attaches through the plugin. Returns the sharing level.
    sotto_gpu_sharing attach() const;
    // The engine's own description, and whether it shares a GPU by that.
    std::string describe() const;
    bool is_attached() const;

    // Loads the model "npc": a script as `options`, or the file at `path`.
    void load(const std::string& options, const std::string& path = "") const;
    // Asks "npc"; the request is private.
    sotto_request ask(const std::string& more = "") const;
    // Waits for the first text, or for the end.
    void wait_for_text(sotto_request request) const;
    End end_of(sotto_request request) const;

private:
    sotto_engine* engine_ = nullptr;
};

} // namespace test
