// Drives the built llama module as an engine does.
#include "module_under_test.hpp"
#include "support/paths.hpp"

#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <iostream>
#include <iterator>
#include <mutex>
#include <utility>

namespace under_test {
namespace {

std::mutex log_mutex; // guards log_lines
std::vector<std::string> log_lines;

void SOTTO_CALL on_log(void*, sotto_log_level level, sotto_str message) {
    std::lock_guard lock(log_mutex);
    log_lines.push_back(std::to_string(level) + " " + text(message));
}

int32_t SOTTO_CALL on_progress(void* context, float done) {
    const auto& progress = static_cast<const Source*>(context)->progress;
    return progress && progress(done) ? 1 : 0;
}

int32_t SOTTO_CALL on_gate(void* context) {
    const auto& gate = *static_cast<const Gate*>(context);
    return gate && gate() ? 1 : 0;
}

sotto_str view(const std::string& bytes) {
    return {bytes.data(), bytes.size()};
}

sotto_model_source source_of(const Source& source) {
    auto made = SOTTO_INIT(sotto_model_source);
    made.path = view(source.path);
    made.options = view(source.options);
    made.device = view(source.device);
    made.files = source.files;
    made.progress = on_progress;
    made.context = const_cast<Source*>(&source);
    made.flags = source.flags;
    made.streams = source.streams;
    made.tokens = source.tokens;
    return made;
}

struct Step {
    std::vector<sotto_step_item*> work;
    void* model;
    std::uint32_t threads = 1;
    sotto_thread_class thread_class = SOTTO_THREAD_NORMAL;
};

sotto_status take(const Step& wanted, const Gate& gate, std::string& why) {
    auto step = SOTTO_INIT(sotto_step);
    step.count = static_cast<std::uint32_t>(wanted.work.size());
    step.items = wanted.work.data();
    step.threads = wanted.threads;
    step.thread_class = wanted.thread_class;
    step.gate = on_gate;
    step.context = const_cast<Gate*>(&gate);
    sotto_str reason = {nullptr, 0};
    const auto status = backend().step(backend().self, wanted.model, &step, &reason);
    why = status < 0 ? text(reason) : "";
    return status;
}

std::string quoted(const std::string& content) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string made = "\"";
    for (const char c : content) {
        if (static_cast<unsigned char>(c) < 0x20) {
            made += std::string("\\u00") + kDigits[c >> 4] + kDigits[c & 15];
            continue;
        }
        if (c == '"' || c == '\\') {
            made += '\\';
        }
        made += c;
    }
    return made + '"';
}

} // namespace

sotto_module_v1_fn entry() {
    static const auto found = [] {
        const char* path = std::getenv("SOTTO_TEST_MODULE");
        void* module = dlopen(path != nullptr ? path : test::paths::kLlamaModule, RTLD_NOW | RTLD_LOCAL);
        if (module == nullptr) {
            std::cerr << dlerror() << '\n';
            std::exit(2);
        }
        return reinterpret_cast<sotto_module_v1_fn>(dlsym(module, SOTTO_MODULE_SYMBOL));
    }();
    return found;
}

const sotto_backend& backend() {
    static auto host = SOTTO_INIT(sotto_backend_host);
    static const auto made = [] {
        host.log_level = SOTTO_LOG_WARN;
        host.log = on_log;
        auto filled = SOTTO_INIT(sotto_backend);
        sotto_str why = {nullptr, 0};
        if (entry()(&host, &filled, &why) != SOTTO_OK) {
            std::cerr << text(why) << '\n';
            std::exit(2);
        }
        return filled;
    }();
    return made;
}

std::vector<std::string> take_log() {
    std::lock_guard lock(log_mutex);
    return std::exchange(log_lines, {});
}

std::string tiny(const char* name) {
    const char* folder = std::getenv("SOTTO_TEST_MODELS");
    return std::string(folder != nullptr ? folder : test::paths::kTinyModels) + "/" + name;
}

std::string house() {
    return test::paths::kHouseModel;
}

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

Model::Model(const Source& source) {
    const auto asked = source_of(source);
    sotto_str reason = {nullptr, 0};
    status = backend().open(backend().self, &asked, &handle, &info, &reason);
    why = status < 0 ? text(reason) : "";
    description = status < 0 ? "" : text(info.description);
    if (status < 0) {
        handle = nullptr;
    }
}

Model::~Model() {
    if (handle != nullptr) {
        backend().close(backend().self, handle);
    }
}

sotto_status Model::resize(std::uint32_t places) {
    sotto_str reason = {nullptr, 0};
    const auto result = backend().resize(backend().self, handle, places, &info, &reason);
    why = result < 0 ? text(reason) : "";
    return result;
}

sotto_status Model::restore(const std::string& state, std::uint32_t& tokens) {
    sotto_str reason = {nullptr, 0};
    const auto result = backend().state_restore(backend().self, handle, view(state), &tokens, &reason);
    why = result < 0 ? text(reason) : "";
    return result;
}

sotto_status measure(const Source& source, sotto_model_info& info, std::string& why) {
    const auto asked = source_of(source);
    sotto_str reason = {nullptr, 0};
    const auto status = backend().measure(backend().self, &asked, &info, &reason);
    why = status < 0 ? text(reason) : "";
    return status;
}

Ready prepare(const Model& model, const std::string& body, sotto_op op, const Gate& cancelled) {
    auto desc = SOTTO_INIT(sotto_stream_desc);
    desc.op = op;
    desc.body = view(body);
    auto info = SOTTO_INIT(sotto_stream_info);
    sotto_str reason = {nullptr, 0};
    Ready ready;
    const auto asked = [](void* context) -> int32_t {
        const auto& is_cancelled = *static_cast<const Gate*>(context);
        return is_cancelled && is_cancelled() ? 1 : 0;
    };
    auto context = cancelled;
    ready.status = backend().prepare(
        backend().self, model.handle, &desc, asked, &context, &ready.handle, &info, &reason
    );
    ready.why = ready.status < 0 ? text(reason) : "";
    ready.result = ready.status < 0 ? "" : text(info.result);
    if (!ready.result.empty()) { // the result is complete without a stream
        backend().prepared_close(backend().self, model.handle, std::exchange(ready.handle, nullptr));
    }
    return ready;
}

Stream::Stream(Model& on, const std::string& body, sotto_op op, sotto_stream_flags flags, void* prepared)
    : model(on) {
    auto desc = SOTTO_INIT(sotto_stream_desc);
    desc.op = op;
    desc.flags = flags;
    desc.body = view(body);
    desc.prepared = prepared;
    auto info = SOTTO_INIT(sotto_stream_info);
    sotto_str reason = {nullptr, 0};
    answer.status = backend().stream_open(backend().self, model.handle, &desc, &handle, &info, &reason);
    if (answer.status < 0) {
        handle = nullptr;
        answer.why = text(reason);
        return;
    }
    answer.prompt_tokens = info.prompt_tokens;
    answer.cached_tokens = info.cached_tokens;
    work.stream = handle;
}

void Stream::close() {
    if (handle != nullptr) {
        backend().stream_close(backend().self, model.handle, handle);
        handle = nullptr;
    }
}

void Stream::park() {
    backend().stream_park(backend().self, model.handle, handle);
}

std::uint32_t Stream::unpark() {
    std::uint32_t remaining = 0;
    sotto_str reason = {nullptr, 0};
    answer.status = backend().stream_unpark(backend().self, model.handle, handle, &remaining, &reason);
    answer.why = answer.status < 0 ? text(reason) : "";
    return remaining;
}

std::string Stream::save(std::uint32_t& tokens) {
    std::string state;
    const auto write = [](void* context, const void* bytes, size_t count) -> int32_t {
        static_cast<std::string*>(context)->append(static_cast<const char*>(bytes), count);
        return 0;
    };
    sotto_str reason = {nullptr, 0};
    answer.status =
        backend().state_save(backend().self, model.handle, handle, write, &state, &tokens, &reason);
    answer.why = answer.status < 0 ? text(reason) : "";
    return state;
}

sotto_status Stream::step(std::uint32_t tokens, const Gate& gate, std::uint32_t threads) {
    work.tokens = tokens;
    const auto status = take({{&work}, model.handle, threads, thread_class}, gate, answer.why);
    ++answer.steps;
    if (status >= 0) {
        take_over();
    }
    return status;
}

void Stream::take_over() {
    answer.text += text(work.text);
    answer.tokens += work.generated;
    answer.finish = work.finish;
    if (work.status < 0) {
        answer.status = work.status;
        answer.why = text(work.reason);
    }
}

Answer& Stream::run(std::uint32_t most, std::uint32_t tokens_per_step) {
    while (handle != nullptr && answer.status >= 0 && answer.finish == SOTTO_FINISH_NONE &&
           answer.tokens < most) {
        if (const auto status = step(tokens_per_step); status < 0) {
            answer.status = status;
        }
    }
    return answer;
}

sotto_status step_together(const std::vector<Stream*>& streams, std::uint32_t tokens, std::uint32_t threads) {
    std::vector<sotto_step_item*> work;
    for (auto* stream : streams) {
        stream->work.tokens = tokens;
        work.push_back(&stream->work);
    }
    std::string why;
    const auto status = take({work, streams.front()->model.handle, threads}, {}, why);
    for (auto* stream : streams) {
        if (status >= 0) {
            stream->take_over();
        }
    }
    return status;
}

std::string chat(const std::string& content, const std::string& more) {
    return R"({"messages": [{"role": "user", "content": )" + quoted(content) + "}], " + more + "}";
}

std::string completion(const std::string& prompt, const std::string& more) {
    return R"({"prompt": )" + quoted(prompt) + ", " + more + "}";
}

} // namespace under_test
