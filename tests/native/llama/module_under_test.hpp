// Drives the built llama module the way an engine does: dlopen and sotto/module.h, nothing else.
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

// The one symbol of the module, opened once per process.
sotto_module_v1_fn entry();
// A backend of it, made once.
const sotto_backend& backend();
// Log lines up to warnings that came since this was last called.
std::vector<std::string> take_log();

// The house model's file.
std::string house();
// A model file in the folder of generated ones.
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

// What is asked of an open.
struct Source {
    std::string path = tiny();
    std::string options;
    std::string device = "auto";
    const sotto_file_access* files = nullptr;
    std::function<bool(float)> progress = {}; // true: give up
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
    // What came of it is in `why`, and in `info`.
    sotto_status resize(std::uint32_t places);
    sotto_status restore(const std::string& state, std::uint32_t& tokens);

    void* handle = nullptr;
    sotto_status status = SOTTO_OK;
    std::string why;
    sotto_model_info info = SOTTO_INIT(sotto_model_info);
    std::string description;
};

sotto_status measure(const Source& source, sotto_model_info& info, std::string& why);

// Decides at each gate whether the step is to end.
using Gate = std::function<bool()>;

// What became of a request that was prepared.
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
    // One step alone. What it came to is in `work` and `answer`.
    sotto_status step(std::uint32_t tokens = 512, const Gate& gate = {}, std::uint32_t threads = 1);
    // Steps until the answer ends or has `most` tokens.
    Answer& run(std::uint32_t most, std::uint32_t tokens_per_step = 512);
    void take_over(); // adds `work` to `answer`
    void park();
    // Tokens to be worked through again; what went wrong is in `answer`.
    std::uint32_t unpark();
    // Its state, and of how many tokens; what went wrong is in `answer`.
    std::string save(std::uint32_t& tokens);

    Model& model;
    void* handle = nullptr;
    sotto_step_item work = SOTTO_INIT(sotto_step_item);
    sotto_thread_class thread_class = SOTTO_THREAD_NORMAL;
    Answer answer;
};

// One step for several streams of one model.
sotto_status
step_together(const std::vector<Stream*>& streams, std::uint32_t tokens, std::uint32_t threads = 1);

// Bodies of requests.
std::string chat(const std::string& content, const std::string& more = R"("temperature": 0)");
std::string completion(const std::string& prompt, const std::string& more = R"("temperature": 0)");

} // namespace under_test
