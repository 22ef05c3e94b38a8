#include "support/budget.hpp"

#include <algorithm>
#include <regex>

#include <doctest/doctest.h>

namespace test {
namespace {

constexpr std::uint64_t kNone = UINT64_MAX;

std::uint64_t ceiling(std::uint64_t budget) {
    return budget == 0 ? kNone : budget;
}

} // namespace

std::string script(const Takes& takes) {
    const auto field = [](const char* name, std::uint64_t value) {
        return ", \"" + std::string(name) + "\": " + std::to_string(value);
    };
    return "{\"gives\": " + takes.gives + field("weights", takes.weights * kMegabyte) +
           field("kv_per_token", takes.place * kMegabyte / takes.context) +
           field("compute", takes.compute * kMegabyte) + field("streams", takes.streams) +
           field("context", takes.context) + takes.more + "}";
}

std::string rigid(std::uint64_t weights, const std::string& more) {
    return script({.weights = weights, .place = 0, .compute = 0, .gives = "[]", .more = more});
}

bool says_why(const std::string& refusal) {
    const auto says = [&](const char* what) { return std::regex_search(refusal, std::regex(what)); };
    return says("needs? (at least )?[0-9]+ MB") && says("budget of [0-9]+ MB") &&
           says("[Uu]nload|[Rr]aise|[Aa]sk for less|[Ww]ait");
}

sotto_engine_desc Account::desc(std::uint64_t budget) {
    budget_ = budget;
    most_ = ceiling(budget);
    report_ = SOTTO_INIT(sotto_memory_report);
    report_.changed = changed;
    report_.self = this;
    auto desc = plain_desc();
    desc.vram_budget = budget;
    desc.memory = &report_;
    return desc;
}

void Account::set(sotto_engine* engine, std::uint64_t budget) {
    const std::lock_guard one_at_a_time(setting_);
    {
        const std::lock_guard lock(mutex_);
        budget_ = budget;
        most_ = std::max(most_, ceiling(budget));
    }
    CHECK(sotto_engine_set_vram_budget(engine, budget) == SOTTO_OK);
}

void Account::settled() {
    const std::lock_guard lock(mutex_);
    most_ = ceiling(budget_);
}

std::int64_t Account::taken() const {
    const std::lock_guard lock(mutex_);
    return taken_;
}

std::size_t Account::violations() const {
    const std::lock_guard lock(mutex_);
    return violations_;
}

void Account::changed(void* self, sotto_memory_kind, sotto_str, sotto_str, std::int64_t bytes) {
    auto& account = *static_cast<Account*>(self);
    const std::lock_guard lock(account.mutex_);
    account.taken_ += bytes;
    if (bytes > 0 && static_cast<std::uint64_t>(std::max<std::int64_t>(account.taken_, 0)) > account.most_) {
        ++account.violations_;
    }
}

Tight::Tight(std::uint64_t megabytes, const sotto_backend& backend) : Tight(megabytes, backend, {}) {}

Tight::Tight(std::uint64_t megabytes, const sotto_backend& backend, const Parking& parking)
    : game(
          [&] {
              auto desc = account.desc(megabytes * kMegabyte);
              desc.kv_spill_dir = str(parking.folder);
              desc.kv_spill_memory = parking.memory;
              return desc;
          }(),
          backend
      ) {}

Tight::~Tight() {
    game.end();
    CHECK(account.violations() == 0);
    CHECK(account.taken() == 0);
}

void Tight::set(std::uint64_t megabytes) {
    account.set(game.engine(), megabytes * kMegabyte);
    CHECK(game.until([&] { return memory()["budget"] == megabytes * kMegabyte; }));
    account.settled(); // all earlier changes of memory have been reported
}

void Tight::settle() {
    CHECK(game.until([&] { return memory()["over"] == 0; }));
    // models report their memory now, too
    game.finish(game.submit(R"({"session": "nobody"})", {}, SOTTO_OP_READ_SESSION));
}

Json Tight::memory() const {
    sotto_str json{};
    REQUIRE_MESSAGE(sotto_engine_memory(game.engine(), &json) == SOTTO_OK, last_error());
    return Json::parse(text_of(json));
}

Json Tight::model(std::string_view id) const {
    const auto all = memory();
    for (const auto& one : all["models"]) {
        if (one["id"] == id) {
            return one;
        }
    }
    return Json::object();
}

sotto_stats Tight::stats() const {
    auto stats = SOTTO_INIT(sotto_stats);
    CHECK(sotto_engine_stats(game.engine(), &stats) == SOTTO_OK);
    return stats;
}

} // namespace test
