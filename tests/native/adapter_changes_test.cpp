// Changes of a model's adapters, without an engine.
#include "core/control/adapter_changes.hpp"

#include <memory>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using sotto::Adapter;
using sotto::ModelEntry;
using sotto::Slot;
using sotto::Submission;

namespace {

class Model {
public:
    Model() : entry(add_model()) {}

    Slot& ask(Submission::Kind what, const char* name) {
        Submission asked;
        asked.kind = what;
        asked.id = "m";
        asked.adapter = name;
        asked.scale = 0.5F;
        Slot& slot = *table_.add(std::move(asked), 1);
        changes.add(slot);
        return slot;
    }
    // Has a job load the next adapter.
    std::shared_ptr<Adapter> load(bool succeeds = true) {
        sotto::Job job;
        job.entry = &entry;
        changes.add_to(job, entry);
        auto& load = std::get<sotto::AdapterJob>(job.what);
        const auto adapter = load.adapter;
        adapter->handle = succeeds ? this : nullptr;
        job.failure.status = succeeds ? SOTTO_OK : SOTTO_ERROR_MODEL;
        changes.loaded(job, load);
        return adapter;
    }

private:
    ModelEntry& add_model() {
        Submission asked;
        asked.id = "m";
        auto model = std::make_unique<ModelEntry>(asked);
        model->state = ModelEntry::State::ready;
        registry_.reserve();
        registry_.add(std::move(model));
        return *registry_.entries().back();
    }

    sotto::RequestTable table_;
    sotto::EventQueue queue_;
    sotto::Meter meter_;
    sotto::Registry registry_;
    sotto::EventSender sender_{table_, queue_, meter_, sotto::system_clock()};

public:
    sotto::AdapterChanges changes{registry_, sender_};
    ModelEntry& entry;
};

} // namespace

TEST_CASE("changes wait for the load before them") {
    Model model;
    model.ask(Submission::Kind::load_adapter, "a");
    model.ask(Submission::Kind::scale_adapter, "a");
    CHECK_FALSE(model.changes.apply());
    CHECK(sotto::AdapterChanges::need_job(model.entry));
    const auto adapter = model.load();
    CHECK(adapter->scale == doctest::Approx(0.5));
    adapter->scale = 1;
    CHECK(model.changes.apply());
    CHECK(adapter->scale == doctest::Approx(0.5));
    CHECK_FALSE(sotto::AdapterChanges::need_job(model.entry));
}

TEST_CASE("an unloaded adapter is freed once no request uses it") {
    Model model;
    model.ask(Submission::Kind::load_adapter, "a");
    auto used = model.load();
    model.ask(Submission::Kind::unload_adapter, "a");
    CHECK(model.changes.apply());
    CHECK(model.entry.adapters.loaded.empty());
    CHECK_FALSE(sotto::AdapterChanges::need_job(model.entry));
    used.reset();
    CHECK(sotto::AdapterChanges::need_job(model.entry));
    sotto::Job job;
    model.changes.add_to(job, model.entry);
    CHECK(job.freed.size() == 1);
    CHECK_FALSE(std::holds_alternative<sotto::AdapterJob>(job.what));
    CHECK(model.entry.adapters.retired.empty());
}

TEST_CASE("an adapter whose load was cancelled is freed, and one that failed is not kept") {
    Model model;
    Slot& cancelled = model.ask(Submission::Kind::load_adapter, "a");
    sotto::Job job;
    job.entry = &model.entry;
    model.changes.add_to(job, model.entry);
    CHECK(sotto::AdapterChanges::cancel(model.entry, cancelled));
    CHECK_FALSE(sotto::AdapterChanges::cancel(model.entry, cancelled));
    auto& load = std::get<sotto::AdapterJob>(job.what);
    load.adapter->handle = &model;
    model.changes.loaded(job, load);
    CHECK(model.entry.adapters.loaded.empty());
    CHECK(model.entry.adapters.retired.size() == 1);
    model.ask(Submission::Kind::load_adapter, "b");
    model.load(false);
    CHECK(model.entry.adapters.loaded.empty());
}

TEST_CASE("a request uses the adapters that it names, and each must be loaded") {
    Model model;
    model.ask(Submission::Kind::load_adapter, "a");
    const auto adapter = model.load();
    sotto::ParsedRequest parsed;
    CHECK(adapters_for(model.entry, parsed).empty());
    parsed.adapters = std::vector<sotto::AdapterAsked>{{"a", 2.0}};
    const auto uses = adapters_for(model.entry, parsed);
    REQUIRE(uses.size() == 1);
    CHECK(uses[0].adapter == adapter);
    CHECK(uses[0].scale == doctest::Approx(2));
    parsed.adapters = std::vector<sotto::AdapterAsked>{{"none", {}}};
    CHECK_THROWS_AS(adapters_for(model.entry, parsed), sotto::Error);
}
