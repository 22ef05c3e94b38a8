// Runs chats on a backend whose steps cost next to nothing, so that the engine is what executes instructions:
// instructions.py counts them under valgrind.
//
//     sotto_bench_instructions streams= tokens= gates=
//
// tokens: of each stream; gates: how often a step asks its gate, as a model does between its layers.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include <sotto/module.h>

#include "support/engine.hpp"

using namespace bench;

namespace {

constexpr std::uint32_t kPrompt = 8;

struct Backend {
    std::uint32_t streams;
    std::uint32_t tokens;
    std::uint32_t gates;
};

struct Stream {
    std::uint32_t left;
};

sotto_str text(const char* literal) {
    return {literal, SOTTO_NUL};
}

void work(sotto_step_item& item) {
    auto& stream = *static_cast<Stream*>(item.stream);
    item.evaluated = std::min(item.tokens, item.remaining);
    item.remaining -= item.evaluated;
    if (item.remaining != 0) {
        return;
    }
    if (stream.left == 0) {
        item.finish = SOTTO_FINISH_STOP;
        return;
    }
    item.text = text(" word");
    item.text.size = 5;
    item.generated = 1;
    --stream.left;
}

sotto_backend backend_of(Backend& self) {
    auto table = SOTTO_INIT(sotto_backend);
    table.name = text("free");
    table.self = &self;
    table.open = [](void* lent, const sotto_model_source*, void** model, sotto_model_info* info, sotto_str*) {
        *model = lent;
        info->streams = static_cast<Backend*>(lent)->streams;
        info->operations = SOTTO_OPERATION_CHAT;
        info->capabilities = SOTTO_CAPABILITY_BATCHABLE | SOTTO_CAPABILITY_ABORTABLE;
        return sotto_status{SOTTO_OK};
    };
    table.close = [](void*, void*) {};
    table.stream_open =
        [](void* lent, void*, const sotto_stream_desc*, void** stream, sotto_stream_info* info, sotto_str*) {
            *stream = new Stream{static_cast<Backend*>(lent)->tokens};
            info->prompt_tokens = kPrompt;
            return sotto_status{SOTTO_OK};
        };
    table.stream_close = [](void*, void*, void* stream) { delete static_cast<Stream*>(stream); };
    table.step = [](void* lent, void*, const sotto_step* step, sotto_str*) {
        for (std::uint32_t gate = 0; gate < static_cast<Backend*>(lent)->gates; ++gate) {
            if (step->gate(step->context) != 0) {
                return sotto_status{SOTTO_ERROR_CANCELLED};
            }
        }
        for (std::uint32_t i = 0; i < step->count; ++i) {
            work(*step->items[i]);
        }
        return sotto_status{SOTTO_OK};
    };
    return table;
}

// Reports frames and takes events until `requests` requests have ended.
void play(sotto_engine* engine, std::uint32_t requests) {
    constexpr auto kFrame = std::chrono::milliseconds(16);
    auto begin = SOTTO_INIT(sotto_frame_begin_desc);
    begin.period_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(kFrame).count());
    auto event = SOTTO_INIT(sotto_event);
    while (requests > 0) {
        check(sotto_engine_frame_begin(engine, &begin));
        while (sotto_engine_next_event(engine, &event) == SOTTO_OK) {
            if (event.kind == SOTTO_EVENT_REQUEST_DONE) {
                check(event.status);
                --requests;
            }
        }
        check(sotto_engine_frame_end(engine, nullptr));
        std::this_thread::sleep_for(kFrame);
    }
}

} // namespace

int main(int count, char** given) {
    const Arguments told(count, given, "sotto_bench_instructions streams= tokens= gates=");
    Backend self{told.count("streams"), told.count("tokens"), told.count("gates")};
    auto desc = SOTTO_INIT(sotto_engine_desc);
    desc.mode = SOTTO_MODE_PRIORITIZE_COMPUTE; // the other modes decide by the time, which valgrind stretches
    Engine engine(desc);
    const auto table = backend_of(self);
    check(sotto_engine_add_backend(engine.get(), &table));
    auto model = SOTTO_INIT(sotto_model_desc);
    model.id = text("m");
    model.backend = text("free");
    model.flags = SOTTO_REQUEST_PRIVATE;
    sotto_request load = 0;
    check(sotto_engine_load_model(engine.get(), &model, &load));
    engine.wait(load);
    for (std::uint32_t i = 0; i < self.streams; ++i) {
        auto request = SOTTO_INIT(sotto_request_desc);
        request.op = SOTTO_OP_CHAT;
        engine.submit(request, R"({"model": "m", "messages": [{"role": "user", "content": "hello"}]})");
    }
    play(engine.get(), self.streams);
    return 0;
}
