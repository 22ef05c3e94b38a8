// Drives the built llama module as an engine does, by dlopen and sotto/module.h only.
#pragma once

#include <sotto/module.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace under_test {

inline std::string text(sotto_str view) {
    return {view.data, view.data == nullptr ? 0 : view.size};
}

// The module's exported function; opens the module once per process.
sotto_module_v1_fn entry();
// The module's backend, created once.
const sotto_backend& backend();
// Returns warnings and errors logged since the last call.
std::vector<std::string> take_log();

// The house model's file.
std::string house();
// Path of a generated model.
std::string tiny(const char* name = "tiny.gguf");
std::string read_file(const std::string& path);

struct Answer {
    std::string text;
    sotto_finish finish = SOTTO_FINISH_NONE;
    sotto_status status = SOTTO_OK;
    std::string why;
    std::uint32_t prompt_tokens = 0;
    std::uint32_t cached_tokens = 0;
    std::uint32_t tokens = 0;
    std::uint32_t steps = 0;
};

// Arguments of an open.
struct Source {
    std::string path = tiny();
    std::string options;
    std::string device = "auto";
    const sotto_file_access* files = nullptr;
    std::function<bool(float)> progress = {}; // returns true to cancel
    sotto_source_flags flags = 0;
    std::uint32_t streams = 0;
    std::uint32_t tokens = 0;
};

class Model {
public:
    explicit Model(const Source& source = {});
    ~Model();
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    explicit operator bool() const { return handle != nullptr; }
    // Sets `why` and `info`.
    sotto_status resize(std::uint32_t places);
    sotto_status restore(const std::string& state, std::uint32_t& tokens);

    void* handle = nullptr;
    sotto_status status = SOTTO_OK;
    std::string why;
    sotto_model_info info = SOTTO_INIT(sotto_model_info);
    std::string description;
};

sotto_status measure(const Source& source, sotto_model_info& info, std::string& why);

// Returns true at a gate to abort the step.
using Gate = std::function<bool()>;

// Result of preparing a request.
struct Ready {
    void* handle = nullptr;
    std::string result;
    sotto_status status = SOTTO_OK;
    std::string why;
};
Ready prepare(
    const Model& model, const std::string& body, sotto_op op = SOTTO_OP_CHAT, const Gate& cancelled = {}
);

class Stream {
public:
    Stream(
        Model& model,
        const std::string& body,
        sotto_op op = SOTTO_OP_CHAT,
        sotto_stream_flags flags = 0,
        void* prepared = nullptr
    );
    ~Stream() { close(); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    void close();
    // Executes one step. Sets `work` and `answer`.
    sotto_status step(std::uint32_t tokens = 512, const Gate& gate = {}, std::uint32_t threads = 1);
    // Executes steps until the answer ends or has `most` tokens.
    Answer& run(std::uint32_t most, std::uint32_t tokens_per_step = 512);
    void take_over(); // adds `work` to `answer`
    void park();
    // Returns the number of tokens to prefill again; sets `answer` on failure.
    std::uint32_t unpark();
    // Returns the saved state and its number of tokens; sets `answer` on failure.
    std::string save(std::uint32_t& tokens);

    Model& model;
    void* handle = nullptr;
    sotto_step_item work = SOTTO_INIT(sotto_step_item);
    sotto_thread_class thread_class = SOTTO_THREAD_NORMAL;
    Answer answer;
};

// Executes one step for several streams of one model.
sotto_status
step_together(const std::vector<Stream*>& streams, std::uint32_t tokens, std::uint32_t threads = 1);

// Request bodies.
std::string chat(const std::string& content, const std::string& more = R"("temperature": 0)");
std::string completion(const std::string& prompt, const std::string& more = R"("temperature": 0)");

} // namespace under_test
