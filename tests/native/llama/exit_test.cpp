// A game that ends while its engine is at work, and takes it down only in a static variable's destructor,
// when what llama.cpp keeps is gone already: it neither hangs nor crashes.
//
// "opens": it ends while a model is opened; "speaks": in the middle of an answer. Then the folder of modules.
#include <cstdio>
#include <cstdlib>
#include <string>

#include <sotto/sotto.h>

namespace {

// As games hold one.
struct Held {
    ~Held() { sotto_engine_destroy(engine); }
    sotto_engine* engine = nullptr;
} held;

int failed(const char* what) {
    const sotto_str why = sotto_last_error();
    std::printf("%s: %.*s\n", what, static_cast<int>(why.size), why.data);
    return 1;
}

} // namespace

int main(int count, char** arguments) {
    if (count != 3) {
        return 2;
    }
    const std::string folder = arguments[2];
    const auto house = folder + "/house.gguf";
    auto desc = SOTTO_INIT(sotto_engine_desc);
    desc.module_dir = {folder.data(), folder.size()};
    desc.mode = SOTTO_MODE_PRIORITIZE_COMPUTE;
    auto threads = SOTTO_INIT(sotto_threads);
    threads.compute_threads = 1;
    desc.threads = &threads;
    if (sotto_engine_create(&desc, &held.engine) < 0) {
        return failed("create");
    }
    auto model = SOTTO_INIT(sotto_model_desc);
    model.id = {"npc", SOTTO_NUL};
    model.path = {house.data(), house.size()};
    model.flags = SOTTO_REQUEST_PRIVATE;
    sotto_request request = 0;
    if (sotto_engine_load_model(held.engine, &model, &request) < 0) {
        return failed("load");
    }
    if (std::string(arguments[1]) == "opens") {
        std::exit(0);
    }
    auto event = SOTTO_INIT(sotto_event);
    while (event.kind != SOTTO_EVENT_DONE) {
        if (sotto_engine_wait_event(held.engine, request, -1, &event) < 0) {
            return failed("wait");
        }
    }
    auto ask = SOTTO_INIT(sotto_request_desc);
    ask.op = SOTTO_OP_TEXT;
    ask.body = {
        R"({"model": "npc", "prompt": "The innkeeper said", "max_tokens": 1024, "ignore_eos": true})",
        SOTTO_NUL
    };
    ask.flags = SOTTO_REQUEST_PRIVATE;
    if (sotto_engine_submit(held.engine, &ask, &request) < 0) {
        return failed("submit");
    }
    for (int i = 0; i < 3; ++i) {
        if (sotto_engine_wait_event(held.engine, request, -1, &event) < 0 || event.kind == SOTTO_EVENT_DONE) {
            return failed("wait");
        }
    }
    std::exit(0);
}
