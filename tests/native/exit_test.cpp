// A game that exits without destroying its engine: nothing crashes, whatever the engine is doing.
#include <cstdio>

#include <sotto/sotto.h>

#include "support/paths.hpp"

namespace {

int failed(const char* what) {
    const sotto_str why = sotto_last_error();
    std::printf("%s: %.*s\n", what, static_cast<int>(why.size), why.data);
    return 1;
}

} // namespace

int main() {
    auto desc = SOTTO_INIT(sotto_engine_desc);
    desc.module_dir = {test::paths::kScriptedFolder, SOTTO_NUL};
    desc.mode = SOTTO_MODE_PRIORITIZE_COMPUTE;
    sotto_engine* engine = nullptr;
    if (sotto_engine_create(&desc, &engine) < 0) {
        return failed("create");
    }
    auto model = SOTTO_INIT(sotto_model_desc);
    model.id = {"npc", SOTTO_NUL};
    model.options = {R"({"tokens": ["a"], "loop": true})", SOTTO_NUL};
    model.flags = SOTTO_REQUEST_PRIVATE;
    sotto_request request = 0;
    if (sotto_engine_load_model(engine, &model, &request) < 0) {
        return failed("load");
    }
    auto event = SOTTO_INIT(sotto_event);
    while (event.kind != SOTTO_EVENT_REQUEST_DONE) {
        if (sotto_engine_wait_request_event(engine, request, -1, &event) < 0) {
            return failed("wait");
        }
    }
    auto ask = SOTTO_INIT(sotto_request_desc);
    ask.op = SOTTO_OP_COMPLETION;
    ask.body = {R"({"model": "npc", "prompt": "hi"})", SOTTO_NUL};
    ask.flags = SOTTO_REQUEST_PRIVATE;
    if (sotto_engine_submit(engine, &ask, &request) < 0) {
        return failed("submit");
    }
    for (int i = 0; i < 100; ++i) {
        if (sotto_engine_wait_request_event(engine, request, -1, &event) < 0) {
            return failed("wait");
        }
    }
    return 0; // while it decodes
}
