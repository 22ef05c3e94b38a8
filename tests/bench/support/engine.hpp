// An engine through the C ABI, for benches: what fails ends the program and says why.
#pragma once

#include <string>
#include <vector>

#include <sotto/sotto.h>

#include "support/bench.hpp"

namespace bench {

void check(sotto_status status);

// A mode's name as the figures have it.
sotto_mode mode_of(const std::string& name);

// A text completion of so many tokens, exactly as long where the model's own end is forbidden it.
struct Ask {
    std::string prompt;
    std::uint32_t tokens = 1;
    std::string model = "m";
    bool remember = true; // a prompt that the model still knows is not worked through again
    bool ignore_eos = true;
    sotto_request_flags flags = SOTTO_REQUEST_PRIVATE;
    std::uint64_t user = 0;
    float target_tps = 0;
    sotto_priority priority = SOTTO_PRIORITY_NORMAL;
};

// What became of a request.
struct Told {
    Clock::time_point submitted;
    Clock::time_point first; // when some text was there
    Clock::time_point done;
    std::uint32_t tokens_at_first = 0;
    std::uint32_t tokens = 0;
    sotto_status status = SOTTO_OK;
    std::string why; // it failed
    std::string json;
};

class Engine {
public:
    explicit Engine(const sotto_engine_desc& desc) { check(sotto_engine_create(&desc, &engine_)); }
    ~Engine() { close(); }
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    void close();
    sotto_engine* get() const { return engine_; }

    // Loads and waits until it answers; the other one does not wait.
    void load(const std::string& path, const std::string& options, const std::string& id = "m");
    sotto_request begin_load(
        const std::string& path,
        const std::string& options,
        const std::string& id,
        sotto_request_flags flags = SOTTO_REQUEST_PRIVATE
    );

    void unload(const std::string& id);

    sotto_request submit(const Ask& ask);
    sotto_request submit(sotto_request_desc desc, const std::string& body);

    // The private request's events up to its last. Unless `may_fail`, one that fails ends the program.
    Told wait(sotto_request request, bool may_fail = false);
    Told ask(const Ask& ask);

    // How many tokens the model puts before a prompt: none or one.
    std::uint32_t tokens_before_prompts(const Words& words, bool ignore_eos);

    // What is in the trace.
    std::vector<sotto_slice> slices();

private:
    sotto_engine* engine_ = nullptr;
};

// A number of a response, which is flat enough to be searched for its name.
double number_in(const std::string& json, const std::string& name);

// Whether the slice is a step of a model's.
bool is_step(const sotto_slice& slice);

double milliseconds(const sotto_slice& slice);

} // namespace bench
