// Warnings about ignored request fields, and the retry after a shortage of memory.
#include "core/control/field_warnings.hpp"

#include <new>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/control/start_retry.hpp"
#include "support/game.hpp"
#include "support/manual_clock.hpp"

using sotto::FieldWarnings;

namespace {

struct Lines {
    sotto_log_sink sink() {
        auto made = SOTTO_INIT(sotto_log_sink);
        made.self = this;
        made.write = [](void* self, sotto_log_level, sotto_str line) {
            static_cast<Lines*>(self)->all.push_back(test::text_of(line));
        };
        return made;
    }

    std::vector<std::string> all;
    const sotto::Log log{sink()};
};

} // namespace

TEST_CASE("each ignored field is logged once") {
    Lines lines;
    FieldWarnings warnings(lines.log);
    warnings.warn_of({"seed", "user"});
    warnings.warn_of({"user"});
    REQUIRE(lines.all.size() == 2);
    CHECK(lines.all[0].find("request field 'seed' has no effect in this request") != std::string::npos);
    CHECK(lines.all[1].find("'user'") != std::string::npos);
}

TEST_CASE("the number of logged fields is limited") {
    Lines lines;
    FieldWarnings warnings(lines.log);
    for (std::size_t i = 0; i < 2 * FieldWarnings::kMaxNames; ++i) {
        warnings.warn_of({"field" + std::to_string(i)});
    }
    CHECK(lines.all.size() == FieldWarnings::kMaxNames);
}

TEST_CASE("a failed start is retried after 10 ms, and logged once until a start succeeds") {
    Lines lines;
    const test::ManualClock clock;
    sotto::StartRetry retry(lines.log, clock);
    const auto fail = [] { throw std::bad_alloc(); };
    CHECK(retry.next() == sotto::kNever);
    retry.run(fail);
    retry.run(fail);
    CHECK(lines.all.size() == 1);
    CHECK(retry.next() == clock.now() + 10 * test::kMillisecond);
    retry.run([] {});
    CHECK(retry.next() == sotto::kNever);
    retry.run(fail);
    CHECK(lines.all.size() == 2);
}
