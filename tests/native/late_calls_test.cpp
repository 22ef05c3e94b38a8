// Calls late in the life of a thread or of the process: from destructors of static and thread_local objects,
// from atexit handlers, and from destructors of thread-specific data. Memory lent by calls is valid there.
//
// The first argument selects the case. Prints "late calls work" when its last call has succeeded.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

#include <sotto/sotto.h>

#include "support/paths.hpp"

namespace {

[[noreturn]] void fail(const char* what) {
    const sotto_str why = sotto_last_error();
    std::printf("failed: %s: %.*s\n", what, static_cast<int>(why.size), why.data);
    std::fflush(stdout);
    _exit(1);
}

void require(bool holds, const char* what) {
    if (!holds) {
        fail(what);
    }
}

sotto_str str(const char* text) {
    return {text, SOTTO_NUL};
}

std::string text_of(sotto_str text) {
    return {text.data, text.size};
}

sotto_engine* make_engine() {
    auto desc = SOTTO_INIT(sotto_engine_desc);
    desc.module_dir = str(test::paths::kScriptedFolder);
    desc.mode = SOTTO_MODE_PRIORITIZE_COMPUTE;
    sotto_engine* engine = nullptr;
    require(sotto_engine_create(&desc, &engine) == SOTTO_OK, "create");
    return engine;
}

sotto_request load(sotto_engine* engine) {
    auto desc = SOTTO_INIT(sotto_model_desc);
    desc.id = str("npc");
    desc.options = str(R"({"tokens": ["word"], "loop": true})");
    desc.flags = SOTTO_REQUEST_PRIVATE;
    sotto_request request = 0;
    require(sotto_engine_load_model(engine, &desc, &request) == SOTTO_OK, "load");
    return request;
}

// Takes all events of a private request, and returns its status.
sotto_status finish(sotto_engine* engine, sotto_request request) {
    auto event = SOTTO_INIT(sotto_event);
    while (event.kind != SOTTO_EVENT_REQUEST_DONE) {
        require(sotto_engine_wait_request_event(engine, request, 20'000, &event) == SOTTO_OK, "wait_event");
        if (event.kind == SOTTO_EVENT_TEXT) {
            require(text_of(event.text) == "word", "the text of an event");
        }
    }
    return event.status;
}

sotto_status answer(sotto_engine* engine) {
    auto desc = SOTTO_INIT(sotto_request_desc);
    desc.op = SOTTO_OP_COMPLETION;
    desc.body = str(R"({"model": "npc", "prompt": "hi", "max_tokens": 4})");
    desc.flags = SOTTO_REQUEST_PRIVATE;
    sotto_request request = 0;
    require(sotto_engine_submit(engine, &desc, &request) == SOTTO_OK, "submit");
    return finish(engine, request);
}

// Makes all calls that lend memory to their thread, more than once.
void use_what_is_lent(sotto_engine* engine) {
    for (int i = 0; i < 3; ++i) {
        sotto_str json{};
        require(sotto_engine_memory(engine, &json) == SOTTO_OK, "memory");
        require(text_of(json).find("\"models\"") != std::string::npos, "the text of memory");
        require(sotto_engine_describe(engine, &json) == SOTTO_OK, "describe");
        require(text_of(json).rfind("{\"version\"", 0) == 0, "the text of describe");
        auto info = SOTTO_INIT(sotto_gpu_info);
        require(
            sotto_gpu_query(1'000, &info) == SOTTO_ERROR_NOT_FOUND && sotto_last_error().size > 0, "gpu_query"
        );
        require(sotto_engine_set_target_tps(engine, -1) == SOTTO_ERROR_ARGUMENT, "set_target_tps");
        require(text_of(sotto_last_error()).find("tps") != std::string::npos, "last_error");
    }
}

std::function<void()> last; // the call that the case makes last

void call_last() {
    if (last) {
        last();
        std::printf("late calls work\n");
        std::fflush(stdout);
    }
}

struct AtExit {
    ~AtExit() {
        if (runs) {
            call_last();
        }
    }
    bool runs = false;
};
AtExit at_exit;

// Destroyed at thread exit, after the library's own thread-local data.
struct AtThreadExit {
    ~AtThreadExit() {
        if (call) {
            call();
        }
    }
    std::function<void()> call;
};
thread_local AtThreadExit at_thread_exit;

sotto_engine* warm_engine() {
    sotto_engine* engine = make_engine();
    require(finish(engine, load(engine)) == SOTTO_OK, "loading");
    require(answer(engine) == SOTTO_OK, "answer");
    use_what_is_lent(engine);
    return engine;
}

// The most common case: a game that holds its engine in a static object.
int from_static_destructor() {
    sotto_engine* engine = warm_engine();
    at_exit.runs = true;
    last = [engine] {
        use_what_is_lent(engine);
        sotto_request request = 0;
        require(
            sotto_engine_unload_model(engine, str("npc"), SOTTO_REQUEST_PRIVATE, &request) == SOTTO_OK,
            "unload"
        );
        require(finish(engine, request) == SOTTO_OK, "unloading");
        sotto_engine_destroy(engine);
    };
    return 0;
}

// Registers the handler before the library has a thread, so that it runs last.
int from_atexit(bool warm) {
    std::atexit(call_last);
    if (warm) {
        sotto_engine_destroy(warm_engine());
    }
    last = [] {
        sotto_engine* engine = make_engine();
        require(finish(engine, load(engine)) == SOTTO_OK, "loading");
        require(answer(engine) == SOTTO_OK, "answer");
        use_what_is_lent(engine);
        sotto_engine_destroy(engine);
    };
    return 0;
}

int from_thread_local_destructor() {
    sotto_engine* engine = warm_engine();
    for (int i = 0; i < 5; ++i) {
        std::thread([engine] {
            at_thread_exit.call = [engine] {
                require(answer(engine) == SOTTO_OK, "answer");
                use_what_is_lent(engine);
            };
            require(answer(engine) == SOTTO_OK, "answer");
            use_what_is_lent(engine);
        }).join();
    }
    sotto_engine_destroy(engine);
    last = [] {};
    call_last();
    return 0;
}

// Thread-specific data, in every round of its destruction.
sotto_engine* key_engine = nullptr;
pthread_key_t key;
std::atomic<int> key_calls{0};
#ifdef __SANITIZE_THREAD__ // TSan releases a thread in the last round, before this
constexpr int kKeyRounds = PTHREAD_DESTRUCTOR_ITERATIONS - 1;
#else
constexpr int kKeyRounds = PTHREAD_DESTRUCTOR_ITERATIONS;
#endif

void destroy_key(void* value) {
    use_what_is_lent(key_engine);
    require(answer(key_engine) == SOTTO_OK, "answer");
    if (++key_calls < kKeyRounds) {
        pthread_setspecific(key, value);
    }
}

int from_key_destructor() {
    require(pthread_key_create(&key, destroy_key) == 0, "pthread_key_create");
    key_engine = warm_engine();
    std::thread([] {
        pthread_setspecific(key, &key_calls);
        use_what_is_lent(key_engine);
    }).join();
    require(key_calls.load() == kKeyRounds, "rounds");
    sotto_engine_destroy(key_engine);
    last = [] {};
    call_last();
    return 0;
}

// Lent memory is freed with its thread; LeakSanitizer checks too.
int short_threads() {
    sotto_engine* engine = warm_engine();
    const auto run = [&](int count) {
        for (int i = 0; i < count; ++i) {
            std::thread([&] { use_what_is_lent(engine); }).join();
        }
    };
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) // where a thread takes milliseconds
    constexpr int kThreads = 1'000;
#else
    constexpr int kThreads = 10'000;
#endif
    constexpr std::size_t kMost = kThreads * 100; // bytes; each thread's lent memory has 3,000
    run(100);
    const auto before = mallinfo2().uordblks;
    run(kThreads);
    const auto after = mallinfo2().uordblks;
    require(after < before + kMost, "the memory of short threads is given back");
    sotto_engine_destroy(engine);
    last = [] {};
    call_last();
    return 0;
}

} // namespace

int main(int count, char** arguments) {
    const std::string_view name = count == 2 ? arguments[1] : "";
    return name == "static"         ? from_static_destructor()
           : name == "atexit"       ? from_atexit(true)
           : name == "atexit_fresh" ? from_atexit(false)
           : name == "thread_local" ? from_thread_local_destructor()
           : name == "key"          ? from_key_destructor()
           : name == "threads"      ? short_threads()
                                    : 2;
}
