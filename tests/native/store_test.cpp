// The store: entries, filters, searches and scores.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "store/ranking.hpp"
#include "store/store.hpp"
#include "support/folder.hpp"
#include "support/lore.hpp"
#include "support/refusal.hpp"

using namespace sotto::store;
using namespace test::lore;
using test::Folder;
using test::refusal;

namespace {

std::vector<std::string> keys(const std::vector<StoreResult>& results) {
    std::vector<std::string> all;
    for (const auto& one : results) {
        all.push_back(one.entry.key);
    }
    return all;
}

using Keys = std::vector<std::string>;

} // namespace

TEST_CASE("what is inserted is read, also after the store was closed") {
    const Folder folder;
    std::string id;
    {
        Store store(options(folder));
        auto one = entry("gate", "The gate is open.", {1, 2, 3, 4, 5, 6, 7, 8});
        one.space = "mara";
        one.priority = 2.5;
        one.importance = 0.25;
        one.created_ms = 1000;
        one.metadata = R"({"place":"inn"})";
        id = store.insert({one}, false).at(0);
        CHECK(id.size() == 24);
    }
    Store store(options(folder, 0)); // 0: as stored
    CHECK(store.info().dim == kDim);
    CHECK(store.info().entries == 1);
    const auto found = store.get(id, true);
    REQUIRE(found);
    CHECK(found->space == "mara");
    CHECK(found->key == "gate");
    CHECK(found->value == "The gate is open.");
    CHECK(found->embedding == std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8});
    CHECK(found->priority == 2.5);
    CHECK(found->importance == 0.25);
    CHECK(found->created_ms == 1000);
    CHECK(found->accessed_ms == 1000);
    CHECK(found->metadata == R"({"place":"inn"})");
    CHECK_FALSE(store.get("other", false));
}

TEST_CASE("an entry changes field by field, and its words and embedding with it") {
    const Folder folder;
    Store store(options(folder));
    const auto ids = store.insert({entry("gate", "open", {1, 0, 0, 0, 0, 0, 0, 0})}, false);
    EntryChange change;
    change.value = "locked";
    change.embedding = std::vector<float>{0, 1, 0, 0, 0, 0, 0, 0};
    CHECK(store.update(ids[0], change));
    CHECK_FALSE(store.update("other", change));
    StoreQuery words;
    words.text = "open";
    CHECK(store.query(words).empty());
    words.text = "LOCKED";
    CHECK(keys(store.query(words)) == Keys{"gate"});
    StoreQuery near;
    near.embedding = {0, 2, 0, 0, 0, 0, 0, 0};
    CHECK(store.query(near).at(0).similarity == doctest::Approx(1.0));
    change = {};
    change.embedding.emplace();
    CHECK(store.update(ids[0], change));
    CHECK(store.query(near).empty());
    CHECK(store.info().embeddings == 0);
}

TEST_CASE("insertion is all or nothing, and an id that exists is replaced only if the caller says so") {
    const Folder folder;
    Store store(options(folder));
    auto first = entry("a", "one");
    first.id = "1";
    store.insert({first}, false);
    auto second = entry("b", "two");
    const auto why = refusal(SOTTO_ERROR_STATE, [&] { store.insert({second, first}, false); });
    CHECK(why.find("invalid id '1'") != std::string::npos);
    CHECK(store.count({}) == 1);
    first.value = "three";
    CHECK(store.insert({first}, true) == std::vector<std::string>{"1"});
    CHECK(store.get("1", false)->value == "three");
    CHECK(store.count({}) == 1);
    first.embedding = {1, 2};
    CHECK(refusal(SOTTO_ERROR_STATE, [&] {
              store.insert({second, first}, true);
          }).find("8 values") != std::string::npos);
    first.embedding = std::vector<float>(kDim, 0.0F);
    CHECK(refusal(SOTTO_ERROR_ARGUMENT, [&] { store.insert({second, first}, true); }) != "");
    first.embedding[3] = NAN;
    CHECK(refusal(SOTTO_ERROR_ARGUMENT, [&] {
              store.insert({first}, true);
          }).find("embedding[3]") != std::string::npos);
    CHECK(store.count({}) == 1);
}

TEST_CASE("entries are removed by id and by filter") {
    const Folder folder;
    Store store(options(folder, 0));
    std::vector<Entry> all;
    for (int i = 0; i < 10; ++i) {
        all.push_back(entry("key" + std::to_string(i)));
        all.back().space = i < 4 ? "mara" : "tobin";
    }
    auto ids = store.insert(all, false);
    CHECK(store.remove(std::vector<std::string>{ids[0], ids[0], ids[5], "none"}) == 2);
    Filter mara;
    mara.space = "mara";
    CHECK(store.count(mara) == 3);
    CHECK(store.remove(mara) == 3);
    CHECK(store.count({}) == 5);
    CHECK(store.remove(Filter()) == 5);
    CHECK(store.remove(Filter()) == 0);
}

TEST_CASE("pages list every entry once, in the order of insertion") {
    const Folder folder;
    Store store(options(folder, 0));
    std::vector<Entry> all;
    for (int i = 0; i < 25; ++i) {
        all.push_back(entry("key" + std::to_string(i)));
    }
    store.insert(all, false);
    ListOptions ten;
    ten.limit = 10;
    std::vector<std::string> seen;
    for (int pages = 0; pages < 3; ++pages) {
        const auto page = store.list(ten);
        for (const auto& one : page.entries) {
            seen.push_back(one.key);
        }
        ten.after = page.next;
        CHECK((page.next != 0) == (pages < 2));
    }
    REQUIRE(seen.size() == 25);
    for (int i = 0; i < 25; ++i) {
        CHECK(seen[static_cast<std::size_t>(i)] == "key" + std::to_string(i));
    }
}

TEST_CASE("a vector search returns the exact nearest entries with their cosines") {
    const Folder folder;
    std::mt19937 random(7);
    std::vector<std::vector<float>> vectors;
    std::vector<Entry> all;
    for (int i = 0; i < 300; ++i) {
        vectors.push_back(random_vector(random));
        all.push_back(entry(std::to_string(i), "", vectors.back()));
    }
    Store store(options(folder));
    store.insert(all, false);
    for (int round = 0; round < 20; ++round) {
        StoreQuery query;
        query.embedding = random_vector(random);
        query.limit = 5;
        std::vector<std::pair<float, std::string>> expected;
        for (std::size_t i = 0; i < vectors.size(); ++i) {
            expected.emplace_back(-cosine(query.embedding, vectors[i]), std::to_string(i));
        }
        std::sort(expected.begin(), expected.end());
        const auto found = store.query(query);
        REQUIRE(found.size() == 5);
        for (std::size_t i = 0; i < found.size(); ++i) {
            CHECK(found[i].entry.key == expected[i].second);
            CHECK(*found[i].similarity == doctest::Approx(-expected[i].first).epsilon(1e-5));
            CHECK(found[i].score == doctest::Approx(*found[i].similarity));
        }
    }
}

TEST_CASE("text is found by its words in any case and with any accents; the key counts twice") {
    const Folder folder;
    Store store(options(folder, 0));
    store.insert(
        {entry("ring", "Mara lost it at the well."),
         entry("well", "It is deep."),
         entry("market", "Café près de la place; a ring is sold here."),
         entry("none", "Nothing to see.")},
        false
    );
    StoreQuery query;
    query.text = "WELL";
    CHECK(keys(store.query(query)) == Keys{"well", "ring"});
    query.text = "cafe";
    CHECK(keys(store.query(query)) == Keys{"market"});
    query.text = "ring well";
    CHECK(store.query(query).size() == 3);
    CHECK(store.query(query).at(0).relevance == 1.0);
    query.text = "\"ring\" AND (NEAR* : -^"; // no syntax, words only
    CHECK(store.query(query).size() == 2);
    query.text = "...";
    CHECK(store.query(query).empty());
}

TEST_CASE("a hybrid search fuses the ranks of both searches") {
    const Folder folder;
    Store store(options(folder));
    store.insert(
        {entry("both", "a silver ring", {1, 0, 0, 0, 0, 0, 0, 0}),
         entry("vector", "something else", {1, 0.1F, 0, 0, 0, 0, 0, 0}),
         entry("words", "a silver ring of the king", {0, 1, 0, 0, 0, 0, 0, 0})},
        false
    );
    StoreQuery query;
    query.embedding = {1, 0, 0, 0, 0, 0, 0, 0};
    query.text = "silver ring";
    const auto found = store.query(query);
    REQUIRE(found.size() == 3);
    CHECK(found[0].entry.key == "both");
    CHECK(found[0].relevance == doctest::Approx(1.0)); // first in both searches
    CHECK(found[1].entry.key == "words");              // third and second
    CHECK(found[1].relevance == doctest::Approx((1.0 / 63 + 1.0 / 62) / (2.0 / 61)));
    CHECK(found[1].similarity == doctest::Approx(0.0));
    CHECK_FALSE(found[2].text_score);
}

TEST_CASE("filters compare namespaces, keys and metadata by value and by type") {
    const Folder folder;
    Store store(options(folder, 0));
    const auto add = [&](const char* key, const char* metadata) {
        auto one = entry(key);
        one.metadata = metadata;
        store.insert({one}, false);
    };
    add("one", R"({"level": 3, "place": {"room": "inn"}, "alive": true})");
    add("two", R"({"level": 7.5, "place": {"room": "Inn"}, "alive": 1})");
    add("GROSSE Straße", R"({"level": "3", "alive": null})");
    const auto count = [&](const char* field, Comparison comparison, std::vector<Scalar> operands) {
        Filter filter;
        filter.where.push_back({metadata_path(field), comparison, std::move(operands)});
        return store.count(filter);
    };
    CHECK(count("level", Comparison::equal, {3.0}) == 1);
    CHECK(count("level", Comparison::equal, {"3"}) == 1);
    CHECK(count("level", Comparison::not_equal, {3.0}) == 2);
    CHECK(count("level", Comparison::greater_equal, {3.0}) == 2);
    CHECK(count("level", Comparison::less, {7.5}) == 1);
    CHECK(count("level", Comparison::in, {3.0, 7.5, "x"}) == 2);
    CHECK(count("level", Comparison::in, {}) == 0);
    CHECK(count("place.room", Comparison::equal, {"inn"}) == 1);
    CHECK(count("alive", Comparison::equal, {true}) == 1);
    CHECK(count("alive", Comparison::equal, {1.0}) == 1);
    CHECK(count("alive", Comparison::equal, {nullptr}) == 1);
    CHECK(count("absent", Comparison::equal, {nullptr}) == 3);
    CHECK(count("absent", Comparison::not_equal, {"x"}) == 3);
    Filter key;
    key.key_contains = "STRASSE";
    CHECK(store.count(key) == 0); // simple folding: one character stays one
    key.key_contains = "gross";
    CHECK(store.count(key) == 1);
    CHECK(refusal(SOTTO_ERROR_ARGUMENT, [] { metadata_path("a\"b"); }) != "");
    CHECK(refusal(SOTTO_ERROR_ARGUMENT, [] { metadata_path("a..b"); }) != "");
}

TEST_CASE("a filter before the search finds more than one after it") {
    const Folder folder;
    Store store(options(folder));
    std::vector<Entry> all;
    for (int i = 0; i < 100; ++i) { // the further the index, the less similar
        all.push_back(entry(i == 99 ? "the king" : "other", "", {1, 0.01F * i, 0, 0, 0, 0, 0, 0}));
    }
    store.insert(all, false);
    StoreQuery query;
    query.embedding = {1, 0, 0, 0, 0, 0, 0, 0};
    query.filter.key_contains = "KING";
    query.candidates = 10;
    CHECK(store.query(query).size() == 1);
    query.prefilter = false;
    CHECK(store.query(query).empty());
    query.candidates = 100;
    CHECK(store.query(query).size() == 1);
}

TEST_CASE("the score is the weighted mean of relevance, priority, recency and importance") {
    CHECK(recency(1000, 1000, 10) == 1.0);
    CHECK(recency(2000, 1000, 10) == 1.0); // in the future
    CHECK(recency(0, 10'000, 10) == doctest::Approx(0.5));
    CHECK(recency(0, 30'000, 10) == doctest::Approx(0.125));
    Entry one;
    one.priority = 1.0;
    one.importance = 0.2;
    CHECK(combined_score({1, 1, 0, 0}, 0.95, 0.5, one) == doctest::Approx(0.975)); // as in the reference
    CHECK(combined_score({2, 1, 1, 4}, 0.9, 0.5, one) == doctest::Approx((1.8 + 1 + 0.5 + 0.8) / 8));

    const Folder folder;
    Store store(options(folder, 0));
    auto old = entry("old");
    old.created_ms = 1000;
    auto fresh = entry("new");
    fresh.created_ms = 100'000;
    store.insert({old, fresh}, false);
    StoreQuery query;
    query.weights = {0, 0, 1, 0};
    query.now_ms = 100'000;
    query.half_life_s = 99;
    auto found = store.query(query);
    CHECK(keys(found) == Keys{"new", "old"});
    CHECK(found[1].score == doctest::Approx(0.5));
    query.limit = 1;
    query.filter.key_contains = "old";
    query.touch = true;
    store.query(query);
    query.filter.key_contains.clear();
    query.limit = 10;
    CHECK(store.query(query).at(1).score == doctest::Approx(1.0));
    query.weights = {0, 0, 0, 0};
    CHECK(refusal(SOTTO_ERROR_ARGUMENT, [&] { store.query(query); }).find("weights") != std::string::npos);
}
