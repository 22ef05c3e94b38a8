// Fails each allocation in turn while a budget is enforced: requests end, nothing stays charged, the engine
// continues.
#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/folder.hpp"
#include "support/short_of_memory.hpp"

using namespace test;

namespace {

// One model that can be loaded smaller and give up slots; another that can only be evicted.
const char* const kGiving =
    R"({"weights": 10, "kv_per_place": 10, "compute": 2, "streams": 4, "parkable": true,
    "gives": ["places", "kv", "streams"], "fingerprint": "{\"model\": \"the one of this test\"}",
    "unpark_tokens": 1, "token_ms": 0.2,
    "tokens": ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]})";
const char* const kRigid = R"({"weights": 15})";
const std::string kAlphabet = "abcdefghij";
constexpr std::size_t kStreams = 4;

std::atomic<int> g_parked{0};

// Counts parked streams.
sotto_backend parking() {
    auto table = scripted();
    table.stream_park = [](void* self, void* model, void* stream) {
        static const auto inner = scripted();
        ++g_parked;
        inner.stream_park(self, model, stream);
    };
    return table;
}

sotto_status submit(sotto_engine* engine, const char* model, sotto_request& request) {
    const auto body = chat(model, "a question that is too long to be kept in place");
    auto desc = SOTTO_INIT(sotto_request_desc);
    desc.op = SOTTO_OP_CHAT;
    desc.body = str(body);
    desc.flags = SOTTO_REQUEST_PRIVATE;
    return call([&] { return sotto_engine_submit(engine, &desc, &request); });
}

void set_budget(sotto_engine* engine, std::uint64_t bytes) {
    CHECK(call([&] { return sotto_engine_set_vram_budget(engine, bytes); }) == SOTTO_OK);
}

// The answer to a private request.
struct Answer {
    explicit Answer(sotto_engine* engine) : submitted(submit(engine, "npc", request)) {}

    // Waits for the first text, or for the end.
    void begin(sotto_engine* engine) {
        while (submitted >= 0 && text.empty() && !over) {
            hear(next(engine, request));
        }
    }
    sotto_status end(sotto_engine* engine) {
        while (submitted >= 0 && !over) {
            hear(next(engine, request));
        }
        return submitted < 0 ? submitted : status;
    }
    void hear(const sotto_event& event) {
        text += event.kind == SOTTO_EVENT_TEXT ? text_of(event.text) : "";
        over = event.kind == SOTTO_EVENT_REQUEST_DONE;
        status = event.status;
    }

    sotto_request request = 0;
    sotto_status submitted;
    sotto_status status = SOTTO_OK;
    std::string text;
    bool over = false;
};

struct Outcome {
    sotto_status loaded = SOTTO_OK; // status of the load
    std::vector<sotto_status> all;  // statuses of the requests after it
    std::vector<std::string> texts; // texts of the answered requests
};

// A model is loaded smaller than requested while another needs its slots. Four streams decode until the
// budget drops and some are parked; then an evicted model needs all the memory.
Outcome live_tightly(sotto_engine* engine) {
    Outcome came;
    set_budget(engine, 40);
    came.loaded = load(engine, "npc", kGiving);
    const auto rigid = load(engine, "rigid", kRigid);
    came.loaded = came.loaded < 0 ? came.loaded : rigid;
    set_budget(engine, 47);
    std::vector<Answer> answers;
    for (std::size_t i = 0; i < kStreams; ++i) {
        answers.emplace_back(engine);
    }
    for (auto& answer : answers) {
        answer.begin(engine);
    }
    set_budget(engine, 20);
    sotto_str json{};
    came.all.push_back(call([&] { return sotto_engine_memory(engine, &json); }));
    for (auto& answer : answers) {
        came.all.push_back(answer.end(engine));
        if (came.all.back() == SOTTO_OK) {
            came.texts.push_back(answer.text);
        }
    }
    sotto_request request = 0;
    const auto submitted = submit(engine, "rigid", request);
    std::string nothing;
    came.all.push_back(outcome(engine, submitted, request, nothing));
    came.all.push_back(unload(engine, "npc"));
    came.all.push_back(unload(engine, "rigid"));
    return came;
}

// Returns false once there are fewer allocations than `fails`.
bool live_tightly_with(long fails) {
    CAPTURE(fails);
    const Folder folder;
    const auto where = folder.text();
    Balance balance;
    auto desc = plain_desc();
    desc.log = &balance.quiet;
    desc.memory = &balance.report;
    desc.kv_spill_dir = str(where);
    desc.kv_spill_memory = 1;
    sotto_engine* engine = nullptr;
    REQUIRE(sotto_engine_create(&desc, &engine) == SOTTO_OK);
    const auto backend = parking();
    REQUIRE(sotto_engine_add_backend(engine, &backend) == SOTTO_OK);
    g_left = fails;
    const auto hit = live_tightly(engine);
    const bool reached = g_left.load() < 0;
    g_left = kNever;
    CHECK(allowed(hit.loaded));
    for (const auto status : hit.all) {
        CHECK((allowed(status) || hit.loaded < 0));
    }
    for (const auto& text : hit.texts) {
        CHECK(text == kAlphabet);
    }
    unload(engine, "npc"); // the failed allocation may have been in unload
    unload(engine, "rigid");
    const auto after = live_tightly(engine); // checks that the engine continues
    CHECK(after.loaded == SOTTO_OK);
    for (const auto status : after.all) {
        CHECK(status == SOTTO_OK);
    }
    CHECK((after.texts == std::vector(kStreams, kAlphabet)));
    sotto_engine_destroy(engine);
    CHECK(balance.is_even());
    CHECK(folder.files().empty());
    return reached;
}

} // namespace

TEST_CASE(
    "wherever an allocation fails while a budget is enforced, requests end and no memory stays charged"
) {
    const Exempt exempt;
    for (const long run : {1, 6}) {
        g_run = run;
        long fails = 0;
        while (live_tightly_with(fails)) {
            fails += stride(run);
        }
        MESSAGE("memory ran out ", run, " times at points of ", fails);
        CHECK(fails > 100);
        CHECK(g_parked > fails / stride(run));
    }
}
