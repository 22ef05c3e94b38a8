// A game that exits while its engine works, and destroys it only in a static variable's destructor, after
// llama.cpp's static objects are gone: it neither hangs nor crashes.
//
// First argument: "opens": it exits while a model is opened; "speaks": during an answer; "asks": it submits
// an answer and a load during exit, and gets the reason why they fail. Second argument: the folder of
// modules.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <sotto/sotto.h>

namespace {

constexpr std::string_view kWhy = "the process is exiting: its models are stopped";

// Returns the last event of a private request.
sotto_event ended(sotto_engine* engine, sotto_request request) {
    auto event = SOTTO_INIT(sotto_event);
    while (event.kind != SOTTO_EVENT_REQUEST_DONE &&
           sotto_engine_wait_request_event(engine, request, -1, &event) == SOTTO_OK) {
    }
    return event;
}

// A static object that holds an engine, as in games.
struct Held {
    ~Held() {
        if (asks) {
            ask();
        }
        sotto_engine_destroy(engine);
    }
    void ask() const {
        auto desc = SOTTO_INIT(sotto_request_desc);
        desc.op = SOTTO_OP_CHAT;
        desc.body = {R"({"model": "npc", "messages": [{"role": "user", "content": "Hi"}]})", SOTTO_NUL};
        desc.flags = SOTTO_REQUEST_PRIVATE;
        auto model = SOTTO_INIT(sotto_model_desc);
        model.id = {"other", SOTTO_NUL};
        model.path = {house.data(), house.size()};
        model.flags = SOTTO_REQUEST_PRIVATE;
        sotto_request request = 0;
        auto status = sotto_engine_submit(engine, &desc, &request);
        see("ask", status, request);
        status = sotto_engine_load_model(engine, &model, &request);
        see("load", status, request);
    }
    // Exits with 3 unless an accepted request is refused with the reason.
    void see(const char* what, sotto_status status, sotto_request request) const {
        const auto event = ended(engine, request);
        const std::string_view text(event.error.data, event.error.size);
        std::printf(
            "%s: %d, %d: %.*s\n", what, status, event.status, static_cast<int>(text.size()), text.data()
        );
        std::fflush(stdout);
        if (status != SOTTO_OK || event.status != SOTTO_ERROR_STATE || text != kWhy) {
            std::_Exit(3);
        }
    }

    sotto_engine* engine = nullptr;
    std::string house;
    bool asks = false;
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
    const std::string_view what = arguments[1];
    if (what == "opens") {
        std::exit(0);
    }
    auto event = ended(held.engine, request);
    if (event.kind != SOTTO_EVENT_REQUEST_DONE || event.status != SOTTO_OK) {
        return failed("load");
    }
    if (what == "asks") {
        held.house = house;
        held.asks = true;
        std::exit(0);
    }
    auto ask = SOTTO_INIT(sotto_request_desc);
    ask.op = SOTTO_OP_COMPLETION;
    ask.body = {
        R"({"model": "npc", "prompt": "The innkeeper said", "max_tokens": 1024, "ignore_eos": true})",
        SOTTO_NUL
    };
    ask.flags = SOTTO_REQUEST_PRIVATE;
    if (sotto_engine_submit(held.engine, &ask, &request) < 0) {
        return failed("submit");
    }
    for (int i = 0; i < 3; ++i) {
        if (sotto_engine_wait_request_event(held.engine, request, -1, &event) < 0 ||
            event.kind == SOTTO_EVENT_REQUEST_DONE) {
            return failed("wait");
        }
    }
    std::exit(0);
}
