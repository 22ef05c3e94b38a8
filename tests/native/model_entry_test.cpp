// The records of a model: its memory and the sizes since its last load.
#include "core/model/model_entry.hpp"

#include <memory>

#include <doctest/doctest.h>

using sotto::Adapter;
using sotto::ModelEntry;
using sotto::Use;

namespace {

std::shared_ptr<Adapter> adapter(sotto::Ledger& ledger, std::uint64_t bytes, std::uint64_t charged) {
    auto adapter = std::make_shared<Adapter>();
    adapter->bytes = bytes;
    adapter->claim = ledger.take(Use::adapter, "m", charged);
    return adapter;
}

} // namespace

TEST_CASE("adapters have a size while their model is evicted, and are charged while they are in memory") {
    sotto::Ledger ledger;
    sotto::AdapterList adapters;
    CHECK(adapters.bytes() == 0);
    CHECK(adapters.charged() == 0);
    adapters.loaded.push_back(adapter(ledger, 5, 5));
    adapters.loaded.push_back(adapter(ledger, 7, 0)); // as while the model is evicted
    adapters.retired.push_back(adapter(ledger, 11, 11));
    CHECK(adapters.bytes() == 12);
    CHECK(adapters.charged() == 16);
}

TEST_CASE("more slots than a model was loaded with need the largest compute buffers") {
    sotto::LoadedInfo loaded;
    loaded.first_slots = 2;
    loaded.max_slots = 4;
    loaded.first_compute = 10;
    loaded.max_compute = 30;
    loaded.kv_per_slot = 3;
    CHECK(loaded.compute_for(2) == 10);
    CHECK(loaded.compute_for(3) == 30);
    CHECK(loaded.first_slot_bytes() == 13);
    loaded.first_slots = 0; // loaded without a slot
    CHECK(loaded.first_slot_bytes() == 33);
}

TEST_CASE("a model's bytes are its claims and those of its adapters") {
    sotto::Ledger ledger;
    ModelEntry entry{sotto::Submission{}};
    CHECK(entry.bytes() == 0);
    entry.claims.weights = ledger.take(Use::weights, "m", 100);
    entry.claims.kv = ledger.take(Use::kv, "m", 20);
    entry.claims.compute = ledger.take(Use::compute, "m", 3);
    CHECK(entry.claims.bytes() == 123);
    entry.adapters.loaded.push_back(adapter(ledger, 1000, 1000));
    CHECK(entry.bytes() == 1123);
    CHECK(entry.bytes() == ledger.used());
    entry.claims = {};
    CHECK(ledger.used() == 1000);
}

TEST_CASE("a model is new until it was loaded, and stays known while it is evicted") {
    ModelEntry entry{sotto::Submission{}};
    CHECK(entry.is_new());
    entry.loaded.max_slots = 1;
    CHECK_FALSE(entry.is_new());
    entry.state = ModelEntry::State::evicted;
    CHECK_FALSE(entry.is_new());
}

TEST_CASE("a model starts without a shape of its own, and with the loader's final note allocated") {
    const ModelEntry entry{sotto::Submission{}};
    CHECK_FALSE(entry.loader.owns);
    CHECK_FALSE(entry.loader.cancelled.load());
    CHECK(entry.loader.final_note != nullptr);
    CHECK(entry.loader.shape.streams == 0);
    CHECK(entry.loader.shrink_scope == sotto::ShrinkScope::all);
}
