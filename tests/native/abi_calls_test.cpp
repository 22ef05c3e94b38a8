// Invalid arguments of every kind: each call returns a status and a reason, and does no harm.
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "support/game.hpp"
#include "support/hooks.hpp"
#include "text/json_reader.hpp"
#include "text/utf8_stream.hpp"

using namespace test;

namespace {

// Checks that a call failed with `status` and the reason `why`.
void check_fails(sotto_status got, sotto_status status, const std::string& why) {
    CHECK(got == status);
    CHECK(last_error() == why);
}

void check_null(sotto_status got, const std::string& name) {
    check_fails(got, SOTTO_ERROR_ARGUMENT, "missing " + name + ": expected a pointer, not NULL");
}

sotto_request_desc question(std::string_view body) {
    auto desc = SOTTO_INIT(sotto_request_desc);
    desc.op = SOTTO_OP_CHAT;
    desc.body = str(body);
    return desc;
}

sotto_model_desc model(std::string_view id) {
    auto desc = SOTTO_INIT(sotto_model_desc);
    desc.id = str(id);
    return desc;
}

const std::string kNotUtf8 = "abc\xFF";
const std::string kHoldsNul("a\0b", 3);
constexpr sotto_str kNoBytes = {nullptr, 5};
constexpr sotto_str kNoEnd = {nullptr, SOTTO_NUL};
constexpr float kBadNumbers[] = {
    -1,
    -0.001F,
    std::numeric_limits<float>::quiet_NaN(),
    std::numeric_limits<float>::infinity(),
    -std::numeric_limits<float>::infinity(),
};

// A heap copy of a struct with another struct_size, exactly that long, so that a sanitizer sees overruns.
template <typename T>
std::unique_ptr<T> sized(const T& from, std::uint32_t size) {
    auto made = std::make_unique<T>(from);
    made->struct_size = size;
    return made;
}

} // namespace

TEST_CASE("a missing pointer is refused by its parameter's name") {
    Game game;
    auto* engine = game.engine();
    const auto desc = question("{}");
    sotto_request request = 7;
    check_null(sotto_engine_create(nullptr, nullptr), "engine");
    check_null(sotto_engine_submit(engine, nullptr, &request), "desc");
    CHECK(request == 0);
    check_null(sotto_engine_submit(engine, &desc, nullptr), "request");
    check_null(sotto_engine_next_event(engine, nullptr), "event");
    check_null(sotto_engine_wait_request_event(engine, 1, 0, nullptr), "event");
    request = 7;
    check_null(sotto_engine_load_model(engine, nullptr, &request), "desc");
    CHECK(request == 0);
    const auto wanted = model("npc");
    check_null(sotto_engine_load_model(engine, &wanted, nullptr), "request");
    check_null(sotto_engine_unload_model(engine, str("npc"), 0, nullptr), "request");
    check_null(sotto_engine_list_models(engine, nullptr), "json");
    check_null(sotto_engine_describe(engine, nullptr), "json");
    check_null(sotto_engine_add_backend(engine, nullptr), "backend");
    check_null(sotto_engine_read_trace(engine, nullptr, 1, nullptr), "count");
    check_null(sotto_engine_attach_gpu(engine, nullptr, nullptr), "gpu");
    check_null(sotto_gpu_query(0, nullptr), "info");
    check_null(sotto_gpu_query_vulkan(nullptr, nullptr), "needs");
    CHECK(sotto_engine_frame_begin(engine, nullptr) == SOTTO_OK);
    CHECK(sotto_engine_frame_end(engine, nullptr) == SOTTO_OK);
}

TEST_CASE("an impossible struct_size is refused, however large it is") {
    Game game;
    auto* engine = game.engine();
    for (const std::uint32_t size : {0U, 1U, 3U, 4097U, 1U << 20, UINT32_MAX}) {
        CAPTURE(size);
        sotto_engine* made = engine;
        sotto_request request = 0;
        const auto bad = SOTTO_ERROR_ARGUMENT;
        const auto struct_size = [&](const std::string& name) {
            return "invalid " + name + "->struct_size '" + std::to_string(size) +
                   "': expected sizeof the struct";
        };
        const auto create = sized(sotto_engine_desc{}, size);
        check_fails(sotto_engine_create(create.get(), &made), bad, struct_size("desc"));
        CHECK(made == nullptr);
        const auto submit = sized(question("{}"), size);
        check_fails(sotto_engine_submit(engine, submit.get(), &request), bad, struct_size("desc"));
        const auto load = sized(model("npc"), size);
        check_fails(sotto_engine_load_model(engine, load.get(), &request), bad, struct_size("desc"));
        const auto begin = sized(sotto_frame_begin_desc{}, size);
        check_fails(sotto_engine_frame_begin(engine, begin.get()), bad, struct_size("frame"));
        const auto end = sized(sotto_frame_end_desc{}, size);
        check_fails(sotto_engine_frame_end(engine, end.get()), bad, struct_size("frame"));
        const auto event = sized(sotto_event{}, size);
        check_fails(sotto_engine_next_event(engine, event.get()), bad, struct_size("event"));
        check_fails(sotto_engine_wait_request_event(engine, 1, 0, event.get()), bad, struct_size("event"));
        const auto backend = sized(scripted(), size);
        check_fails(sotto_engine_add_backend(engine, backend.get()), bad, struct_size("backend"));
        sotto_engine_desc hooks = plain_desc();
        const auto log = sized(sotto_log_sink{}, size);
        hooks.log = log.get();
        check_fails(sotto_engine_create(&hooks, &made), bad, struct_size("desc->log"));
    }
}

TEST_CASE("bytes beyond the known struct must be zero") {
    alignas(sotto_frame_begin_desc) unsigned char bytes[4096] = {};
    auto* frame = reinterpret_cast<sotto_frame_begin_desc*>(bytes);
    frame->struct_size = sizeof bytes;
    Game game;
    CHECK(sotto_engine_frame_begin(game.engine(), frame) == SOTTO_OK);
    bytes[sizeof bytes - 1] = 1;
    check_fails(
        sotto_engine_frame_begin(game.engine(), frame),
        SOTTO_ERROR_UNSUPPORTED,
        "invalid frame->struct_size '4096': expected at most " +
            std::to_string(sizeof(sotto_frame_begin_desc)) + ", or zeros in newer fields; update the library"
    );
}

TEST_CASE("reserved fields must be zero") {
    Game game;
    auto end = SOTTO_INIT(sotto_frame_end_desc);
    end.reserved = 1;
    check_fails(
        sotto_engine_frame_end(game.engine(), &end),
        SOTTO_ERROR_UNSUPPORTED,
        "invalid frame->reserved '1': expected 0"
    );
    auto backend = scripted();
    backend.uses = 6;
    check_fails(
        sotto_engine_add_backend(game.engine(), &backend),
        SOTTO_ERROR_UNSUPPORTED,
        "invalid backend->uses '6': expected only bits of 3"
    );
}

TEST_CASE("NaN and infinity are refused and change nothing") {
    Game game;
    auto* engine = game.engine();
    CHECK(sotto_engine_set_target_tps(engine, 12) == SOTTO_OK);
    for (const float bad : kBadNumbers) {
        const auto why = " '" + std::to_string(bad) + "': expected 0 or a positive number";
        check_fails(sotto_engine_set_target_tps(engine, bad), SOTTO_ERROR_ARGUMENT, "invalid tps" + why);
        auto desc = plain_desc();
        desc.target_tps = bad;
        sotto_engine* made = nullptr;
        check_fails(
            sotto_engine_create(&desc, &made), SOTTO_ERROR_ARGUMENT, "invalid desc->target_tps" + why
        );
        auto ask = question("{}");
        ask.target_tps = bad;
        sotto_request request = 0;
        check_fails(
            sotto_engine_submit(engine, &ask, &request),
            SOTTO_ERROR_ARGUMENT,
            "invalid desc->target_tps" + why
        );
        auto end = SOTTO_INIT(sotto_frame_end_desc);
        end.busy_ms = bad;
        check_fails(
            sotto_engine_frame_end(engine, &end), SOTTO_ERROR_ARGUMENT, "invalid frame->busy_ms" + why
        );
        end.busy_ms = 0;
        end.gpu_ms = bad;
        check_fails(
            sotto_engine_frame_end(engine, &end), SOTTO_ERROR_ARGUMENT, "invalid frame->gpu_ms" + why
        );
    }
    auto begin = SOTTO_INIT(sotto_frame_begin_desc);
    begin.time_ns = UINT64_MAX;
    check_fails(
        sotto_engine_frame_begin(engine, &begin),
        SOTTO_ERROR_ARGUMENT,
        "invalid frame->time_ns '18446744073709551615': expected a time of the monotonic clock, or 0 for now"
    );
    sotto_str json{};
    REQUIRE(sotto_engine_describe(engine, &json) == SOTTO_OK);
    CHECK(sotto::Json::parse(text_of(json))["target_tps"] == 12);
}

TEST_CASE("unknown enum values are refused") {
    Game game;
    auto* engine = game.engine();
    sotto_engine* made = nullptr;
    sotto_request request = 0;
    for (const sotto_mode mode : {-1, 3, INT32_MAX, INT32_MIN}) {
        CHECK(sotto_engine_set_mode(engine, mode) == SOTTO_ERROR_ARGUMENT);
        auto desc = plain_desc();
        desc.mode = mode;
        CHECK(sotto_engine_create(&desc, &made) == SOTTO_ERROR_ARGUMENT);
        CHECK(
            last_error() ==
            "invalid desc->mode '" + std::to_string(mode) + "': expected one of the SOTTO_MODE_ values"
        );
    }
    auto desc = question("{}");
    desc.op = 0;
    CHECK(sotto_engine_submit(engine, &desc, &request) == SOTTO_ERROR_ARGUMENT);
    for (const sotto_op op : {-1, SOTTO_OP_IMAGE_MATTE + 1, 1000}) {
        desc.op = op;
        CHECK(sotto_engine_submit(engine, &desc, &request) == SOTTO_ERROR_UNSUPPORTED);
    }
    desc.op = SOTTO_OP_COMPLETION;
    desc.flags = 4;
    CHECK(sotto_engine_submit(engine, &desc, &request) == SOTTO_ERROR_UNSUPPORTED);
    auto load = model("npc");
    load.flags = SOTTO_REQUEST_CHUNKS;
    CHECK(sotto_engine_load_model(engine, &load, &request) == SOTTO_ERROR_UNSUPPORTED);
    CHECK(sotto_engine_unload_model(engine, str("npc"), 1U << 31, &request) == SOTTO_ERROR_UNSUPPORTED);
    for (const sotto_log_level level : {-1, 6}) {
        CHECK(sotto_log_set_level(level) == SOTTO_ERROR_ARGUMENT);
    }
    auto device = plain_desc();
    device.device = str("metal");
    CHECK(sotto_engine_create(&device, &made) == SOTTO_ERROR_UNSUPPORTED);
    device.device = str("toaster");
    CHECK(sotto_engine_create(&device, &made) == SOTTO_ERROR_ARGUMENT);
    CHECK(
        last_error() ==
        "invalid desc->device 'toaster': expected \"auto\", \"cpu\", \"vulkan\", \"vulkan0\" or "
        "\"vulkan:\" and a UUID, or the same with \"cuda\""
    );
}

TEST_CASE("ill-formed UTF-8 is refused by its parameter's name") {
    Game game;
    auto* engine = game.engine();
    sotto_request request = 0;
    sotto_engine* made = nullptr;
    const auto refused = [&](sotto_str text, const std::string& kind, const std::string& why) {
        const auto bad = SOTTO_ERROR_ARGUMENT;
        auto create = plain_desc();
        create.module_dir = text;
        check_fails(sotto_engine_create(&create, &made), bad, kind + "desc->module_dir" + why);
        create.module_dir = {};
        create.device = text;
        check_fails(sotto_engine_create(&create, &made), bad, kind + "desc->device" + why);
        create.device = {};
        auto threads = SOTTO_INIT(sotto_threads);
        threads.name = text;
        create.threads = &threads;
        check_fails(sotto_engine_create(&create, &made), bad, kind + "desc->threads->name" + why);
        auto load = model("npc");
        load.id = text;
        check_fails(sotto_engine_load_model(engine, &load, &request), bad, kind + "desc->id" + why);
        load = model("npc");
        load.path = text;
        check_fails(sotto_engine_load_model(engine, &load, &request), bad, kind + "desc->path" + why);
        load = model("npc");
        load.backend = text;
        check_fails(sotto_engine_load_model(engine, &load, &request), bad, kind + "desc->backend" + why);
        check_fails(sotto_engine_unload_model(engine, text, 0, &request), bad, kind + "id" + why);
    };
    const std::string no_data = "->data: expected a pointer, not NULL, unless the size is 0";
    refused(str(kNotUtf8), "invalid ", ": expected UTF-8");
    refused(str(kHoldsNul), "invalid ", ": expected no NUL bytes");
    refused(kNoBytes, "missing ", no_data);
    refused(kNoEnd, "missing ", no_data);
    check_fails(
        sotto_engine_unload_model(engine, {}, 0, &request),
        SOTTO_ERROR_ARGUMENT,
        "missing id: expected a string that is not empty"
    );
    auto desc = question("{}");
    desc.body = kNoBytes;
    check_fails(
        sotto_engine_submit(engine, &desc, &request), SOTTO_ERROR_ARGUMENT, "missing desc->body" + no_data
    );
}

TEST_CASE("a malformed body fails in its event, with one line of UTF-8") {
    Game game;
    for (const std::string& body : {std::string(), kNotUtf8, kHoldsNul, std::string(1 << 20, '[')}) {
        const auto& last = done(game.finish(game.submit(body)));
        CHECK(last.status == SOTTO_ERROR_ARGUMENT);
        CHECK(sotto::is_utf8(last.error));
        CHECK(last.error.find('\n') == std::string::npos);
        CHECK(last.error.size() < 1000);
    }
    auto desc = question("");
    const char* terminated = "{\"model\": \"npc\"}";
    desc.body = {terminated, SOTTO_NUL};
    sotto_request request = 0;
    REQUIRE(sotto_engine_submit(game.engine(), &desc, &request) == SOTTO_OK);
    CHECK(done(game.finish(request)).error == "missing messages: expected an array of messages");
}

TEST_CASE("a hook without its functions is refused by its parameter's name") {
    HostHooks host;
    const auto refused = [&](auto member, auto clear, const char* name) {
        auto desc = host.desc();
        auto hook = *(desc.*member);
        clear(hook);
        desc.*member = &hook;
        sotto_engine* made = nullptr;
        check_null(sotto_engine_create(&desc, &made), name);
    };
    refused(&sotto_engine_desc::log, [](auto& h) { h.write = nullptr; }, "desc->log->write");
    refused(&sotto_engine_desc::files, [](auto& h) { h.open = nullptr; }, "desc->files->open");
    refused(&sotto_engine_desc::files, [](auto& h) { h.read = nullptr; }, "desc->files->read");
    refused(&sotto_engine_desc::files, [](auto& h) { h.close = nullptr; }, "desc->files->close");
    refused(&sotto_engine_desc::memory, [](auto& h) { h.changed = nullptr; }, "desc->memory->changed");
    refused(
        &sotto_engine_desc::profiler, [](auto& h) { h.zone_begin = nullptr; }, "desc->profiler->zone_begin"
    );
    refused(&sotto_engine_desc::profiler, [](auto& h) { h.zone_end = nullptr; }, "desc->profiler->zone_end");
}

TEST_CASE("each thread has its own last error, which successful calls leave unchanged") {
    CHECK(sotto_log_set_level(99) == SOTTO_ERROR_ARGUMENT);
    const auto mine = last_error();
    CHECK(mine == "invalid level '99': expected a level from SOTTO_LOG_DEFAULT to SOTTO_LOG_TRACE");
    std::thread([] {
        CHECK(last_error().empty());
        CHECK(sotto_engine_next_event(nullptr, nullptr) == SOTTO_ERROR_ARGUMENT);
        CHECK(last_error() == "missing engine: expected a handle, not NULL");
    }).join();
    CHECK(sotto_log_set_level(SOTTO_LOG_DEFAULT) == SOTTO_OK);
    CHECK(last_error() == mine);
    CHECK(text_of(sotto_version()) == SOTTO_VERSION);
}

TEST_CASE("the description of an engine stays valid until the thread's next such call") {
    auto desc = plain_desc();
    desc.vram_budget = 123;
    desc.target_tps = 7;
    desc.module_dir = str("/nowhere");
    Game game(desc);
    sotto_str json{};
    REQUIRE(sotto_engine_describe(game.engine(), &json) == SOTTO_OK);
    std::thread([&] {
        sotto_str other{};
        CHECK(sotto_engine_list_models(game.engine(), &other) == SOTTO_OK);
        CHECK(text_of(other) == "[]");
    }).join();
    const auto all = sotto::Json::parse(text_of(json));
    CHECK(all["version"] == SOTTO_VERSION);
    CHECK(all["mode"] == "prioritize_compute");
    CHECK(all["vram_budget"] == 123);
    CHECK(all["target_tps"] == 7);
    CHECK(all["backends"][0]["name"] == "scripted");
    CHECK(all["modules_passed_over"].empty());
    CHECK(all["cpu"]["cores"] >= 1);
}

TEST_CASE("an impossible text length is refused by its parameter's name") {
    Game game;
    const char text[] = "{}";
    for (const std::size_t size :
         {SIZE_MAX - 1, SIZE_MAX / 2, SIZE_MAX / 2 + 1, (std::size_t{1} << 32) + 1}) {
        auto ask = SOTTO_INIT(sotto_request_desc);
        ask.op = SOTTO_OP_CHAT;
        ask.body = {text, size};
        sotto_request request = 0;
        CHECK(sotto_engine_submit(game.engine(), &ask, &request) == SOTTO_ERROR_ARGUMENT);
        CHECK(last_error().find("invalid desc->body->size '" + std::to_string(size)) == 0);
        CHECK(sotto_engine_unload_model(game.engine(), {text, size}, 0, &request) == SOTTO_ERROR_ARGUMENT);
        CHECK(last_error().find("invalid id->size") == 0);
    }
}
