// What a finished job does to its streams and their requests.
#include "core/control/stream_results.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/control_parts.hpp"

using sotto::Job;
using sotto::Session;
using sotto::Stream;

namespace {

constexpr const char* kScript = R"({"tokens": ["a", "b"], "prompt_tokens": 1, "streams": 2})";

struct Results : test::ControlParts {
    sotto::ModelEntry& entry = open(kScript);
    sotto::Sessions sessions;
    sotto::StateFiles files{all.hooks};
    sotto::GuardChecks checks{all.world, [](sotto::Slot&) {}, [](sotto::Slot&) {}};
    sotto::StreamResults results{all.world, sessions, sender, files, streams, ender, checks};

    std::unique_ptr<Job> job(std::vector<Stream*> of) {
        auto made = std::make_unique<Job>();
        made->entry = &entry;
        made->streams = std::move(of);
        return made;
    }
    // A job that has opened `stream`, which counts as open since the job started.
    std::unique_ptr<Job> opening(Stream& stream) {
        auto made = job({&stream});
        made->what = sotto::OpenJob{};
        ++entry.open_streams;
        stream.busy = true;
        return made;
    }
    void open_in(Job& job) {
        std::get<sotto::OpenJob>(job.what).opened =
            entry.model->open_stream(SOTTO_OP_CHAT, test::chat("m", "hello"), 0);
    }
    // A job in which each stream has decoded `text`.
    std::unique_ptr<Job>
    stepping(const std::vector<Stream*>& of, const std::string& text, bool last = false) {
        auto made = job(of);
        sotto::StepJob step;
        for (auto* stream : of) {
            stream->busy = true;
            sotto_step_item work{};
            work.struct_size = sizeof work;
            work.generated = 1;
            step.work.push_back(work);
            sotto::AnswerIncrement increment;
            increment.deltas.emplace_back().text = text;
            increment.tokens = 1;
            increment.last = last;
            step.increment.push_back(std::move(increment));
            step.failures.emplace_back();
        }
        made->what = std::move(step);
        return made;
    }
    // The kinds of the events that the host has not seen, and the text in them.
    struct Seen {
        std::vector<sotto_event_kind> kinds;
        std::string text;
        sotto_status status = SOTTO_EMPTY; // of the last event of a request
    };
    Seen seen() {
        Seen found;
        bool any = true;
        while (any) {
            any = all.queue.take(all.clock, [&](const sotto::Event& event) {
                found.kinds.push_back(event.kind);
                found.text += event.text;
                found.status = event.kind == SOTTO_EVENT_REQUEST_DONE ? event.status : found.status;
            });
        }
        return found;
    }
};

} // namespace

TEST_CASE("a stream that was opened prefills, and is no longer busy") {
    Results one;
    auto& stream = one.add(one.entry);
    const auto job = one.opening(stream);
    one.open_in(*job);
    one.results.take(*job, false);
    CHECK(stream.handle != nullptr);
    CHECK(stream.state == Stream::State::prompting);
    CHECK_FALSE(stream.busy);
    CHECK(one.seen().kinds.empty());
    one.close(stream);
}

TEST_CASE("a request whose stream cannot be opened gets the error, and counts as open no longer") {
    Results one;
    auto& stream = one.add(one.entry);
    const auto job = one.opening(stream);
    job->failure.set(SOTTO_ERROR_INFERENCE, "no stream");
    one.results.take(*job, false);
    CHECK(one.entry.open_streams == 0);
    CHECK(stream.state == Stream::State::over);
    CHECK(one.seen().status == SOTTO_ERROR_INFERENCE);
    one.results.take(*one.opening(stream), false); // it has ended: no second event
    CHECK(one.seen().kinds.empty());
    CHECK(one.entry.open_streams == 0);
}

TEST_CASE("a request that needs no step is answered with the backend's result") {
    Results one;
    auto& stream = one.add(one.entry);
    const auto job = one.opening(stream);
    std::get<sotto::OpenJob>(job->what).opened.result = "{}";
    one.results.take(*job, false);
    CHECK(one.seen().status == SOTTO_OK);
    CHECK(one.entry.open_streams == 0);
    one.streams.sweep();
    CHECK(one.streams.is_empty());
}

TEST_CASE("a stream that ended while it was opened is closed") {
    Results one;
    auto& stream = one.add(one.entry);
    const auto job = one.opening(stream);
    one.ender.fail(stream, SOTTO_ERROR_CANCELLED, "cancelled");
    CHECK(one.entry.slots.closing.empty()); // the job has it
    one.open_in(*job);
    one.results.take(*job, false);
    CHECK(one.entry.slots.closing.size() == 1);
    CHECK(one.seen().status == SOTTO_ERROR_CANCELLED);
    one.close(stream);
}

TEST_CASE("stop sequences that are no JSON array fail the request") {
    Results one;
    auto& stream = one.add(one.entry);
    const auto job = one.opening(stream);
    one.open_in(*job);
    std::get<sotto::OpenJob>(job->what).opened.stops = "{";
    one.results.take(*job, false);
    CHECK(one.seen().status == SOTTO_ERROR_INFERENCE);
    CHECK(one.entry.slots.closing.size() == 1);
    one.close(stream);
}

TEST_CASE("a KV cache that cannot be restored is dropped, unless the session has a newer one") {
    Results one;
    for (const bool newer : {false, true}) {
        const auto session = std::make_shared<Session>();
        session->kept = one.states.put("m", sotto::PageBuffer(4));
        auto& stream = one.add(one.entry, session);
        const auto job = one.opening(stream);
        auto& open = std::get<sotto::OpenJob>(job->what);
        open.recalls = newer ? one.states.put("m", sotto::PageBuffer(4)) : session->kept;
        open.useless = true;
        one.open_in(*job);
        one.results.take(*job, false);
        CHECK((session->kept != nullptr) == newer);
        one.close(stream);
    }
}

TEST_CASE("a stream that was parked for another one waits, even if the other one failed") {
    Results one;
    auto& first = one.add_open(one.entry);
    auto& second = one.add(one.entry);
    const auto job = one.opening(second);
    std::get<sotto::OpenJob>(job->what).parks = &first;
    first.busy = true;
    --one.entry.open_streams;
    job->failure.set(SOTTO_ERROR_INFERENCE, "no stream");
    one.results.take(*job, false);
    CHECK(first.state == Stream::State::parked);
    CHECK_FALSE(first.busy);
    CHECK(second.state == Stream::State::over);
    one.close(first);
}

TEST_CASE("a resumed stream prefills what it lost, and drops its saved KV cache") {
    Results one;
    auto& stream = one.add_open(one.entry);
    stream.state = Stream::State::parked;
    stream.kv.parked = one.states.put("m", sotto::PageBuffer(4));
    const auto job = one.job({&stream});
    job->what = sotto::ResumeJob{{}, 2};
    one.results.take(*job, false);
    CHECK(stream.remaining == 2);
    CHECK(stream.kv.parked == nullptr);
    CHECK(stream.state == Stream::State::prompting);
    one.close(stream);
}

TEST_CASE("a request whose stream cannot resume ends, and its session keeps no slot") {
    Results one;
    const auto session = std::make_shared<Session>();
    session->pinned = true;
    auto& stream = one.add_open(one.entry, session);
    stream.state = Stream::State::parked;
    const auto job = one.job({&stream});
    job->what = sotto::ResumeJob{};
    job->failure.set(SOTTO_ERROR_INFERENCE, "no slot");
    one.results.take(*job, false);
    CHECK(stream.session == nullptr);
    CHECK(one.entry.slots.pinned.empty());
    CHECK(one.seen().status == SOTTO_ERROR_INFERENCE);
    one.close(stream);
}

TEST_CASE("a step's text goes to the host, and the streams of a followed step stay busy") {
    Results one;
    auto& first = one.add_open(one.entry);
    auto& second = one.add_open(one.entry);
    one.results.take(*one.stepping({&first, &second}, "a"), true);
    CHECK(first.busy);
    CHECK(first.generated == 1);
    const auto seen = one.seen();
    CHECK(seen.kinds == std::vector<sotto_event_kind>{SOTTO_EVENT_TEXT, SOTTO_EVENT_TEXT});
    CHECK(seen.text == "aa");
    one.results.take(*one.stepping({&first, &second}, "b"), false);
    CHECK_FALSE(second.busy);
    one.close(first);
    one.close(second);
}

TEST_CASE("a stream that fails in a step does not end the others of that step") {
    Results one;
    auto& first = one.add_open(one.entry);
    auto& second = one.add_open(one.entry);
    const auto job = one.stepping({&first, &second}, "a");
    std::get<sotto::StepJob>(job->what).failures[0].set(SOTTO_ERROR_INFERENCE, "this one");
    one.results.take(*job, false);
    CHECK(first.state == Stream::State::over);
    CHECK(second.state == Stream::State::speaking);
    CHECK(one.seen().text == "a");
    const auto failed = one.stepping({&second}, "b");
    failed->failure.set(SOTTO_ERROR_INFERENCE, "the whole step");
    one.results.take(*failed, false);
    CHECK(second.state == Stream::State::over);
    CHECK(one.seen().text.empty());
    one.close(second);
}

TEST_CASE("the last step of an answer ends its request, and frees its slot") {
    Results one;
    auto& stream = one.add_open(one.entry);
    one.results.take(*one.stepping({&stream}, "a", true), false);
    const auto seen = one.seen();
    REQUIRE(seen.kinds.size() == 3);
    CHECK(seen.kinds[1] == SOTTO_EVENT_CHOICE_DONE);
    CHECK(seen.kinds[2] == SOTTO_EVENT_REQUEST_DONE);
    CHECK(seen.status == SOTTO_OK);
    CHECK(one.entry.slots.closing.size() == 1);
    CHECK(one.entry.slots.closing[0].session == nullptr);
    one.close(stream);
}

TEST_CASE("an answer lets its session keep the KV cache if there are more sessions than slots") {
    for (const bool crowded : {false, true}) {
        Results one;
        one.entry.traits.streams = 2;
        for (int i = 0; i < (crowded ? 3 : 2); ++i) {
            one.sessions.answer(SOTTO_OP_OPEN_SESSION, R"({"session": "s)" + std::to_string(i) + R"("})");
        }
        const auto session = std::make_shared<Session>();
        auto& stream = one.add_open(one.entry, session);
        one.results.take(*one.stepping({&stream}, "a", true), false);
        REQUIRE(one.entry.slots.closing.size() == 1);
        CHECK((one.entry.slots.closing[0].session == session) == crowded);
        one.close(stream);
    }
}

TEST_CASE("a closed stream leaves its KV cache to its session, and is no longer open") {
    Results one;
    const auto session = std::make_shared<Session>();
    const auto job = one.job({});
    one.entry.open_streams = 2;
    job->closing.push_back({nullptr, session, false, one.states.put("m", sotto::PageBuffer(4)), 7});
    job->closing.push_back({}); // of no session
    sotto::StreamResults::closed(*job);
    CHECK(one.entry.open_streams == 0);
    CHECK(session->kept == job->closing[0].kept);
    CHECK(session->kept_group == 7);
    one.entry.open_streams = 1;
    job->closing = {{nullptr, session, false, {}, 7}}; // nothing could be saved
    sotto::StreamResults::closed(*job);
    CHECK(session->kept == nullptr);
}
