// The usage of a stream, and the steps in which it makes no progress.
#include "core/control/stream_usage.hpp"

#include <doctest/doctest.h>

#include "core/control/stream_output.hpp"
#include "support/manual_clock.hpp"

using sotto::StreamInfo;
using sotto::StreamUsage;
using test::kMillisecond;

TEST_CASE("a stream that generated nothing has used its prompt, and no time") {
    StreamUsage usage;
    CHECK(usage.counts(0, 0, 0).prompt == 0);
    StreamInfo info;
    info.prompt_tokens = 7;
    info.cached_tokens = 9; // a backend may say more than the prompt has
    info.dropped = 2;
    usage.opened(info, 5 * kMillisecond);
    CHECK(usage.prompt().cached == 7);
    const auto counts = usage.counts(0, 0, 0);
    CHECK(counts.prompt == 7);
    CHECK(counts.cached == 7);
    CHECK(counts.dropped == 2);
    CHECK(counts.generated == 0);
    CHECK(counts.prompt_ms == 0);
    CHECK(counts.first_token_ms == 0);
}

TEST_CASE("times run from the submission and the slot to the first token, and from there to the last") {
    StreamUsage usage;
    usage.opened(StreamInfo(), 10 * kMillisecond);
    usage.generated(14 * kMillisecond);
    usage.generated(20 * kMillisecond);
    const auto counts = usage.counts(2, 14 * kMillisecond, 3 * kMillisecond);
    CHECK(counts.generated == 2);
    CHECK(counts.prompt_ms == doctest::Approx(4));
    CHECK(counts.generated_ms == doctest::Approx(6));
    CHECK(counts.first_token_ms == doctest::Approx(11));
}

TEST_CASE("draft tokens count as verified by the step that decodes them, and as accepted when delivered") {
    StreamUsage usage;
    usage.opened(StreamInfo(), 0);
    CHECK(usage.prompt().slot == -1);
    const auto step = [&](std::uint32_t evaluated, std::uint32_t decoded) {
        sotto_step_item work{};
        work.evaluated = evaluated;
        work.decoded = decoded;
        work.generated = 1;
        work.slot = 3;
        usage.stepped(work);
    };
    step(7, 0); // prefills, and chooses the first token
    CHECK(usage.prompt().accepted == 0);
    step(0, 4); // one token and three drafts, of which two are accepted
    step(0, 0);
    step(0, 0);
    step(0, 1);
    CHECK(usage.counts(5, 0, 0).drafted == 3);
    CHECK(usage.counts(5, 0, 0).accepted == 2);
    CHECK(usage.counts(5, 0, 0).slot == 2);
    CHECK_FALSE(usage.counts(5, 0, 0).truncated);
}

TEST_CASE("an answer is truncated once its prompt was cut or its context was full") {
    StreamInfo cut;
    cut.dropped = 1;
    StreamUsage usage;
    usage.opened(cut, 0);
    CHECK(usage.prompt().truncated);
    usage.opened(StreamInfo(), 0);
    CHECK_FALSE(usage.prompt().truncated);
    sotto_step_item work{};
    work.truncated = 1;
    usage.stepped(work);
    usage.stepped({});
    CHECK(usage.prompt().truncated);
}

TEST_CASE("steps in a row without a token count, unless fewer prompt tokens remain than ever before") {
    sotto::StreamOutput output(sotto::ParsedRequest(), false);
    CHECK(output.saved_tokens == 0);
    sotto_step_item work{};
    work.remaining = 8;
    CHECK(output.progress.add(work) == 0);
    CHECK(output.progress.add(work) == 1);
    work.remaining = 9;
    CHECK(output.progress.add(work) == 2);
    work.remaining = 7;
    CHECK(output.progress.add(work) == 0);
    work.generated = 1;
    CHECK(output.progress.add(work) == 0);
    work.generated = 0;
    CHECK(output.progress.add(work) == 0); // after a token, the count starts anew
    CHECK(output.progress.add(work) == 1);
}
