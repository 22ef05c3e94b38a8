// Callers built with older headers than today's, and with newer ones, against today's library.
// Every struct is allocated to the byte, so under AddressSanitizer one byte too far is seen.
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <deque>
#include <string>
#include <string_view>

#include <sotto/module.h>
#include <sotto/sotto.h>

#include "cut.hpp"
#include "sizes.g.h"

namespace {

std::atomic<int> g_called{0}; // how often any hook was

void SOTTO_CALL log_write(void*, sotto_log_level, sotto_str) {
    ++g_called;
}
sotto_status SOTTO_CALL file_open(void*, sotto_str, void**, std::uint64_t*) {
    ++g_called;
    return SOTTO_ERROR_NOT_FOUND;
}
sotto_status SOTTO_CALL file_read(void*, void*, std::uint64_t, void*, std::uint64_t) {
    return SOTTO_ERROR_NOT_FOUND;
}
void SOTTO_CALL file_close(void*, void*) {}
void SOTTO_CALL memory_changed(void*, sotto_memory_kind, sotto_str, sotto_str, std::int64_t) {}
void SOTTO_CALL thread_started(void*, sotto_str) {
    ++g_called;
}
void SOTTO_CALL zone_begin(void*, sotto_str) {}
void SOTTO_CALL zone_end(void*) {}

sotto_log_sink log_sink() {
    auto hook = SOTTO_INIT(sotto_log_sink);
    hook.write = log_write;
    hook.self = &g_called;
    return hook;
}

sotto_file_access file_access() {
    auto hook = SOTTO_INIT(sotto_file_access);
    hook.open = file_open;
    hook.read = file_read;
    hook.close = file_close;
    hook.self = &g_called;
    return hook;
}

sotto_memory_report memory_report() {
    auto hook = SOTTO_INIT(sotto_memory_report);
    hook.changed = memory_changed;
    hook.self = &g_called;
    return hook;
}

sotto_threads threads() {
    auto hook = SOTTO_INIT(sotto_threads);
    hook.compute_threads = 1;
    static const std::uint64_t cores = 1;
    hook.affinity = &cores;
    hook.affinity_words = 1;
    hook.name = str("old");
    hook.started = thread_started;
    hook.self = &g_called;
    return hook;
}

sotto_profiler profiler() {
    auto hook = SOTTO_INIT(sotto_profiler);
    hook.zone_begin = zone_begin;
    hook.zone_end = zone_end;
    hook.self = &g_called;
    return hook;
}

sotto_request_desc question(sotto_request_flags flags) {
    auto desc = SOTTO_INIT(sotto_request_desc);
    desc.op = SOTTO_OP_CHAT;
    desc.body = str(R"({"model": "nobody", "messages": [{"role": "user", "content": "Who goes there?"}]})");
    desc.user = 7;
    desc.flags = flags;
    desc.target_tps = 5;
    return desc;
}

// Takes the last event of a request, from the engine's queue or from the request itself.
sotto_event last_event(sotto_engine* engine, sotto_request request, bool is_private) {
    auto event = SOTTO_INIT(sotto_event);
    sotto_status status = SOTTO_OK;
    while (status == SOTTO_OK && event.kind != SOTTO_EVENT_REQUEST_DONE) {
        if (is_private) {
            status = sotto_engine_wait_request_event(engine, request, 10000, &event);
        } else if ((status = sotto_engine_wait_for_events(engine, 10000)) == SOTTO_OK) {
            status = sotto_engine_next_event(engine, &event);
        }
    }
    expect(status == SOTTO_OK && event.request == request, "the last event comes");
    return event;
}

void answers(sotto_engine* engine, sotto_status wanted) {
    const auto desc = question(0);
    sotto_request request = 0;
    expect(sotto_engine_submit(engine, &desc, &request) == SOTTO_OK, "submit");
    expect(last_event(engine, request, false).status == wanted, "the answer's status");
}

sotto_status create_and_ask(const sotto_engine_desc* desc) {
    auto* engine = reinterpret_cast<sotto_engine*>(&g_called);
    const sotto_status status = sotto_engine_create(desc, &engine);
    expect((engine != nullptr) == (status == SOTTO_OK), "an engine exactly if it says so");
    if (status == SOTTO_OK) {
        answers(engine, SOTTO_ERROR_NOT_FOUND);
    } else {
        expect(sotto_last_error().size > 0, "a reason");
    }
    sotto_engine_destroy(engine);
    sotto_engine_destroy(engine); // harmless
    return status;
}

template <typename Hook>
auto with(const Hook* sotto_engine_desc::* field) {
    return [field](const Hook* hook) {
        auto desc = SOTTO_INIT(sotto_engine_desc);
        desc.*field = hook;
        return create_and_ask(&desc);
    };
}

void engines_and_hooks() {
    const auto log = log_sink();
    const auto files = file_access();
    const auto memory = memory_report();
    const auto pool = threads();
    const auto zones = profiler();
    auto desc = SOTTO_INIT(sotto_engine_desc);
    desc.mode = SOTTO_MODE_PRIORITIZE_GRAPHICS;
    desc.module_dir = str("/nonexistent");
    desc.device = str("cpu");
    desc.vram_budget = 1u << 30;
    desc.target_tps = 30;
    desc.log = &log;
    desc.files = &files;
    desc.memory = &memory;
    desc.threads = &pool;
    desc.profiler = &zones;
    expect(create_and_ask(nullptr) == SOTTO_OK, "no description at all");
    every_size("sotto_engine_desc", desc, sizes_of_sotto_engine_desc, 0, create_and_ask);
    expect(g_called > 0, "some hook was called");

    const std::size_t write_end = offsetof(sotto_log_sink, self);
    every_size("sotto_log_sink", log, sizes_of_sotto_log_sink, write_end, with(&sotto_engine_desc::log));
    const std::size_t close_end = offsetof(sotto_file_access, self);
    every_size(
        "sotto_file_access", files, sizes_of_sotto_file_access, close_end, with(&sotto_engine_desc::files)
    );
    const std::size_t changed_end = offsetof(sotto_memory_report, self);
    every_size(
        "sotto_memory_report",
        memory,
        sizes_of_sotto_memory_report,
        changed_end,
        with(&sotto_engine_desc::memory)
    );
    every_size("sotto_threads", pool, sizes_of_sotto_threads, 0, with(&sotto_engine_desc::threads));
    const std::size_t zone_end_end = offsetof(sotto_profiler, self);
    every_size(
        "sotto_profiler", zones, sizes_of_sotto_profiler, zone_end_end, with(&sotto_engine_desc::profiler)
    );
}

void requests(sotto_engine* engine) {
    const auto desc = question(SOTTO_REQUEST_PRIVATE);
    const std::size_t op_end = offsetof(sotto_request_desc, body);
    every_size(
        "sotto_request_desc", desc, sizes_of_sotto_request_desc, op_end, [&](const sotto_request_desc* ask) {
            sotto_request request = 99;
            const sotto_status status = sotto_engine_submit(engine, ask, &request);
            expect((request != 0) == (status == SOTTO_OK), "a request exactly if it says so");
            if (status == SOTTO_OK) {
                const auto size = ask->struct_size;
                const auto done =
                    last_event(engine, request, size >= offsetof(sotto_request_desc, target_tps));
                const bool asked = size >= offsetof(sotto_request_desc, user);
                expect(done.status == (asked ? SOTTO_ERROR_NOT_FOUND : SOTTO_ERROR_ARGUMENT), "how it ended");
                expect(done.user == (size >= offsetof(sotto_request_desc, flags) ? 7u : 0u), "whose it was");
            }
            return status;
        }
    );
}

void models(sotto_engine* engine) {
    auto desc = SOTTO_INIT(sotto_model_desc);
    desc.flags = SOTTO_REQUEST_PRIVATE;
    desc.id = str("nobody");
    desc.path = str("/nonexistent/nobody.gguf");
    desc.options = str("{}");
    desc.user = 9;
    const std::size_t id_end = offsetof(sotto_model_desc, path);
    every_size(
        "sotto_model_desc", desc, sizes_of_sotto_model_desc, id_end, [&](const sotto_model_desc* model) {
            sotto_request request = 99;
            const sotto_status status = sotto_engine_load_model(engine, model, &request);
            expect((request != 0) == (status == SOTTO_OK), "a request exactly if it says so");
            if (status == SOTTO_OK) {
                const auto done = last_event(engine, request, true);
                expect(done.status < 0, "no such model");
                expect(done.user == (model->struct_size >= sizeof *model ? 9u : 0u), "whose it was");
            }
            return status;
        }
    );
}

void frames(sotto_engine* engine) {
    auto begin = SOTTO_INIT(sotto_frame_begin_desc);
    begin.busy_cores = 1;
    begin.period_ns = 16666667;
    begin.time_ns = 1000000;
    every_size("sotto_frame_begin_desc", begin, sizes_of_sotto_frame_begin_desc, 0, [&](const auto* frame) {
        return sotto_engine_frame_begin(engine, frame);
    });
    auto end = SOTTO_INIT(sotto_frame_end_desc);
    end.gpu_ms = 4;
    end.busy_ms = 6;
    end.time_ns = 9000000;
    every_size("sotto_frame_end_desc", end, sizes_of_sotto_frame_end_desc, 0, [&](const auto* frame) {
        return sotto_engine_frame_end(engine, frame);
    });
    expect(sotto_engine_frame_begin(engine, nullptr) == SOTTO_OK, "a frame without a description");
    expect(sotto_engine_frame_end(engine, nullptr) == SOTTO_OK, "its end without a description");
}

#ifdef _WIN32
constexpr bool kAsksDevice = true; // the device itself, which is none here
#else
constexpr bool kAsksDevice = false; // unless there is no LUID
#endif

sotto_status attach_and_detach(sotto_engine* engine, const sotto_gpu_desc* gpu) {
    sotto_gpu_sharing rung = -1;
    const sotto_status status = sotto_engine_attach_gpu(engine, gpu, &rung);
    expect((rung != SOTTO_GPU_SHARING_NONE) == (status == SOTTO_OK), "a rung exactly if it says so");
    const auto why = sotto_last_error();
    const bool asked = kAsksDevice && std::string_view(why.data, why.size) ==
                                          "invalid d3d12->device: expected an ID3D12Device";
    expect(sotto_engine_detach_gpu(engine) == (status == SOTTO_OK ? SOTTO_OK : SOTTO_ERROR_STATE), "detach");
    return asked ? SOTTO_OK : status; // it got as far as that
}

void cards(sotto_engine* engine) {
    auto d3d12 = SOTTO_INIT(sotto_gpu_d3d12);
    d3d12.device = d3d12.queue = &g_called;
    d3d12.luid = 7;
    auto gpu = SOTTO_INIT(sotto_gpu_desc);
    gpu.d3d12 = &d3d12;
    const std::size_t d3d12_end = offsetof(sotto_gpu_desc, vulkan);
    every_size("sotto_gpu_desc", gpu, sizes_of_sotto_gpu_desc, d3d12_end, [&](const auto* desc) {
        return attach_and_detach(engine, desc);
    });
    const std::size_t luid_end = kAsksDevice ? offsetof(sotto_gpu_d3d12, luid) : sizeof d3d12;
    every_size("sotto_gpu_d3d12", d3d12, sizes_of_sotto_gpu_d3d12, luid_end, [&](const auto* renderer) {
        gpu.d3d12 = renderer;
        return attach_and_detach(engine, &gpu);
    });
    for (const std::uint32_t room : sizes_of_sotto_gpu_info) {
        const Cut<sotto_gpu_info> info(SOTTO_INIT(sotto_gpu_info), room);
        expect(sotto_gpu_query(99, info.get()) == SOTTO_ERROR_NOT_FOUND, "a card that isn't there");
        expect(info.get()->struct_size == room, "struct_size stays");
    }
}

void backends(sotto_engine* engine) {
    auto backend = SOTTO_INIT(sotto_backend);
    backend.name = str("mine");
    backend.self = &g_called;
    backend.open =
        [](void*, const sotto_model_source*, void**, sotto_model_info*, sotto_str*) -> sotto_status {
        return SOTTO_ERROR_MODEL;
    };
    backend.close = [](void*, void*) {};
    backend.stream_open =
        [](void*, void*, const sotto_stream_desc*, void**, sotto_stream_info*, sotto_str*) -> sotto_status {
        return SOTTO_ERROR_MODEL;
    };
    backend.stream_close = [](void*, void*, void*) {};
    backend.step = [](void*, void*, const sotto_step*, sotto_str*) -> sotto_status {
        return SOTTO_ERROR_MODEL;
    };

    std::deque<std::string> names; // a name may be taken once, and has to outlive the engine's use of it
    every_size(
        "sotto_backend",
        backend,
        sizes_of_sotto_backend,
        offsetof(sotto_backend, stream_parse),
        [&](sotto_backend* mine) {
            if (mine->struct_size >= offsetof(sotto_backend, description)) {
                names.push_back("mine" + std::to_string(names.size()));
                mine->name = str(names.back().c_str());
            }
            return sotto_engine_add_backend(engine, mine);
        }
    );
}

// Submits a request whose events fit in `room` bytes each, and takes them all. Returns how many there were.
int take_all(sotto_engine* engine, std::uint32_t room, bool is_private, int wanted) {
    const auto desc = question(is_private ? SOTTO_REQUEST_PRIVATE : 0);
    const Cut<sotto_event> event(sotto_event{}, room);
    event.last_byte() = room > sizeof(sotto_event) ? 0xAB : event.last_byte();
    sotto_request request = 0;
    expect(sotto_engine_submit(engine, &desc, &request) == SOTTO_OK, "submit");
    int taken = 0;
    sotto_status status = SOTTO_OK;
    while (status == SOTTO_OK && taken != wanted) {
        if (is_private) {
            status = sotto_engine_wait_request_event(engine, request, 10000, event.get());
        } else if ((status = sotto_engine_wait_for_events(engine, 10000)) == SOTTO_OK) {
            status = sotto_engine_next_event(engine, event.get());
        }
        taken += status == SOTTO_OK;
        expect(event.get()->struct_size == room, "struct_size stays");
    }
    expect(room <= sizeof(sotto_event) || event.last_byte() == 0xAB, "what is not known is left alone");
    return taken;
}

void events(sotto_engine* engine) {
    const int wanted = take_all(engine, sizeof(sotto_event), true, -1); // up to SOTTO_ERROR_NOT_FOUND
    expect(wanted > 0, "a failed request tells something");
    for (const bool is_private : {false, true}) {
        for (const std::uint32_t room : sizes_of_sotto_event) {
            const int taken = take_all(engine, room, is_private, wanted);
            expect(taken == wanted, "sotto_event of " + std::to_string(room));
        }
        expect(
            take_all(engine, sizeof(sotto_event) + 40, is_private, wanted) == wanted, "a later sotto_event"
        );
    }
    auto desc = question(0);
    sotto_request request = 0;
    expect(sotto_engine_submit(engine, &desc, &request) == SOTTO_OK, "submit");
    expect(sotto_engine_wait_for_events(engine, 10000) == SOTTO_OK, "an event comes");
    for (const std::uint32_t size : {0u, 3u}) {
        auto event = SOTTO_INIT(sotto_event);
        event.struct_size = size;
        expect(sotto_engine_next_event(engine, &event) == SOTTO_ERROR_ARGUMENT, "an event without a size");
        expect(
            sotto_engine_wait_request_event(engine, 1, 0, &event) == SOTTO_ERROR_ARGUMENT,
            "an event without a size"
        );
    }
    expect(last_event(engine, request, false).status == SOTTO_ERROR_NOT_FOUND, "bad calls lose no event");
}

} // namespace

int main() {
    engines_and_hooks();
    sotto_engine* engine = nullptr;
    expect(sotto_engine_create(nullptr, &engine) == SOTTO_OK, "create");
    requests(engine);
    models(engine);
    frames(engine);
    cards(engine);
    events(engine);
    backends(engine);
    sotto_engine_destroy(engine);
    expect(sotto_engine_create(nullptr, nullptr) == SOTTO_ERROR_ARGUMENT, "nowhere to put an engine");
    expect(sotto_engine_next_event(nullptr, nullptr) == SOTTO_ERROR_ARGUMENT, "no engine");
    expect(sotto_engine_submit(engine, nullptr, nullptr) == SOTTO_ERROR_ARGUMENT, "an engine that is gone");
    sotto_engine_destroy(nullptr);
    std::printf("old_caller: %d passed, %d failed\n", g_passed, g_failed);
    return g_failed != 0;
}
