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
