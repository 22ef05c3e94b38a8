// What a job gets from the slice that it runs, and what its streams give up for it.
#include "core/control/job_starter.hpp"

#include <memory>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "support/control_parts.hpp"

using sotto::Job;
using sotto::Session;
using sotto::Slice;
using sotto::Stream;

namespace {

constexpr const char* kScript = R"({"tokens": ["a", "b"], "prompt_tokens": 3, "streams": 2})";

struct Starter : test::ControlParts {
    sotto::ModelEntry& entry = open(kScript);
    sotto::JobStarter& starter = jobs.starter();

    sotto::KvStateStore::Kept state_of(const std::string& model) {
        sotto::PageBuffer bytes(4);
        return states.put(model, std::move(bytes));
    }
};

} // namespace

TEST_CASE("a job without a slice only closes streams, and changes nothing before it starts") {
    Starter one;
    const auto job = one.starter.make(one.entry);
    CHECK(job->entry == &one.entry);
    CHECK(std::holds_alternative<sotto::CloseJob>(job->what));
    CHECK(job->thread_class == sotto::ThreadClass::normal);
    CHECK(job->threads > 0);
    CHECK(job->streams.empty());
    CHECK(one.entry.open_streams == 0);
    CHECK(one.jobs.runner().is_idle());
}

TEST_CASE("a stream is opened with its request, and counts as open at once") {
    Starter one;
    auto& stream = one.add(one.entry);
    const auto job = one.starter.make(one.slice(Slice::Kind::open, stream));
    const auto& open = std::get<sotto::OpenJob>(job->what);
    CHECK(open.op == SOTTO_OP_CHAT);
    CHECK(open.body == &stream.reply->body);
    CHECK(open.adapters == &stream.reply->adapters);
    CHECK(open.flags == 0);
    CHECK(open.parks == nullptr);
    CHECK(open.recalls == nullptr);
    CHECK(open.state == nullptr);
    CHECK(one.entry.open_streams == 1);
    CHECK_FALSE(stream.busy); // not before the job begins
    CHECK(one.entry.slots.closing.capacity() >= one.streams.table().all().size());
}

TEST_CASE("a deterministic engine opens streams that share no step") {
    Starter one;
    one.all.settings.flags = SOTTO_ENGINE_DETERMINISTIC;
    const auto job = one.starter.make(one.slice(Slice::Kind::open, one.add(one.entry)));
    CHECK(std::get<sotto::OpenJob>(job->what).flags == SOTTO_STREAM_ALONE);
    CHECK(job->patience == 0);
}

TEST_CASE("a prepared request goes to the job, and is not released with the stream") {
    Starter one;
    auto& stream = one.add(one.entry);
    stream.preparation.request.handle = &stream; // any address
    const auto job = one.starter.make(one.slice(Slice::Kind::open, stream));
    CHECK(std::get<sotto::OpenJob>(job->what).prepared == &stream);
    CHECK(stream.preparation.request.handle == nullptr);
}

TEST_CASE("a stream that takes another's slot leaves the number of open streams as it is") {
    Starter one;
    auto& first = one.add(one.entry);
    one.entry.open_streams = 1;
    auto& second = one.add(one.entry);
    auto slice = one.slice(Slice::Kind::open, second);
    slice.parks = &first;
    const auto job = one.starter.make(slice);
    CHECK(std::get<sotto::OpenJob>(job->what).parks == &first);
    CHECK(first.busy);
    CHECK(one.entry.open_streams == 1);
    first.busy = false;
}

TEST_CASE("a session's KV cache is recalled by the model and the adapters that made it only") {
    Starter one;
    const auto session = std::make_shared<Session>();
    auto& stream = one.add(one.entry, session);
    CHECK(sotto::kept_of(stream) == nullptr); // nothing is kept
    session->kept = one.state_of("another model");
    CHECK(sotto::kept_of(stream) == nullptr);
    session->kept = one.state_of("m");
    CHECK(sotto::kept_of(stream) == session->kept);
    session->kept_group = 7;
    CHECK(sotto::kept_of(stream) == nullptr);
    session->kept_group = stream.terms.group;
    const auto job = one.starter.make(one.slice(Slice::Kind::open, stream));
    CHECK(std::get<sotto::OpenJob>(job->what).recalls == session->kept);
    CHECK(sotto::kept_of(one.add(one.entry)) == nullptr); // without a session
}

TEST_CASE("the next turn of a pinned session closes the stream that kept its slot") {
    Starter one;
    const auto session = std::make_shared<Session>();
    session->pinned = true;
    one.entry.slots.pinned.push_back({session, &one});
    auto& stream = one.add(one.entry, session);
    const auto job = one.starter.make(one.slice(Slice::Kind::open, stream));
    REQUIRE(job->closing.size() == 1);
    CHECK(job->closing[0].handle == &one);
    CHECK(one.entry.slots.pinned.empty());
}

TEST_CASE("a parked stream resumes with its saved KV cache, and with the read that is under way") {
    Starter one;
    auto& stream = one.add(one.entry);
    stream.kv.parked = one.state_of("m");
    stream.kv.fetch = one.states.fetch(stream.kv.parked);
    const auto fetch = stream.kv.fetch;
    const auto job = one.starter.make(one.slice(Slice::Kind::unpark, stream));
    const auto& resume = std::get<sotto::ResumeJob>(job->what);
    CHECK(resume.recalls == stream.kv.parked);
    CHECK(resume.fetched == fetch);
    CHECK(stream.kv.fetch == nullptr);
    CHECK(one.entry.open_streams == 1);
}

TEST_CASE("a step has one item for each stream, with the tokens that the slice gives it") {
    Starter one;
    auto& first = one.add(one.entry);
    auto& second = one.add(one.entry);
    first.handle = &first;
    first.remaining = 3;
    second.handle = &second;
    auto slice = one.slice(Slice::Kind::step, first, 2);
    slice.shares.push_back({&second, 0});
    slice.limit = 5;
    const auto job = one.starter.make(slice);
    const auto& step = std::get<sotto::StepJob>(job->what);
    REQUIRE(step.work.size() == 2);
    CHECK(step.increment.size() == 2);
    CHECK(step.failures.size() == 2);
    CHECK(step.work[0].stream == &first);
    CHECK(step.work[0].tokens == 2);
    CHECK(step.work[0].remaining == 3);
    CHECK(step.work[1].stream == &second);
    CHECK(step.work[1].tokens == 0);
    CHECK(job->limit == 5);
    CHECK(one.entry.open_streams == 0);
    first.handle = second.handle = nullptr;
}

TEST_CASE("no job begins beside another, and the queued step is removed for the next job") {
    Starter one;
    auto& stream = one.add_open(one.entry);
    CHECK(one.starter.may_begin());
    one.starter.begin(one.starter.make(one.slice(Slice::Kind::step, stream)));
    CHECK(stream.busy);
    CHECK(one.jobs.runner().job()->issued == one.all.clock.now());
    CHECK_FALSE(one.starter.may_begin());
    CHECK_FALSE(one.jobs.runner().has_next());
    one.wait();
    CHECK(one.starter.may_begin());
    stream.busy = false;
    one.close(stream);
}
