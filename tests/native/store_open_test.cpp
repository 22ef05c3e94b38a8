// The store: ids, files, versions, readers, large texts and the index file.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "store/case_fold.hpp"
#include "store/sqlite.hpp"
#include "store/store.hpp"
#include "support/folder.hpp"
#include "support/lore.hpp"
#include "support/refusal.hpp"

using namespace sotto::store;
using namespace test::lore;
using test::Folder;
using test::refusal;
namespace fs = std::filesystem;

namespace {} // namespace

TEST_CASE("folding compares characters without regard to case") {
    CHECK(folded("ABC xyz") == "abc xyz");
    CHECK(folded("ÄÖÜ ÉÈ ΑΒΓΣς ДЖ") == folded("äöü éè αβγσσ дж"));
    CHECK(folded("İ") == "İ");
    CHECK(folded("\xFF\xC3") == "\xFF\xC3");                 // not UTF-8
    CHECK(folded("\xF0\x90\x90\x80") == "\xF0\x90\x90\xA8"); // Deseret
}

TEST_CASE("ids that are no plain file name on some system are refused by name") {
    for (const char* id :
         {"",    "a/b",      "a\\b",   "..",  ".",  ".hidden", "a.",  "a ",  " a",   "CON",
          "con", "Lpt1.txt", "aux .x", "a:b", "a*", "a?",      "a|b", "a<b", "a\nb", "\x7F"}) {
        CAPTURE(id);
        CHECK(refusal(SOTTO_ERROR_ARGUMENT, [&] { check_id(id); }).find("invalid store id") == 0);
    }
    CHECK(refusal(SOTTO_ERROR_ARGUMENT, [] { check_id(std::string_view("a\0b", 3)); }) != "");
    CHECK(refusal(SOTTO_ERROR_ARGUMENT, [] { check_id(std::string(101, 'a')); }) != "");
    for (const char* id : {"lore", "a.b", "save 1", "コン", "CONSOLE", "COM", "-wal", "a.db"}) {
        CHECK(refusal(SOTTO_ERROR_ARGUMENT, [&] { check_id(id); }) == "");
    }
}

TEST_CASE("a store that does not exist, is open, or has other dimensions is refused") {
    const Folder folder;
    auto asked = options(folder);
    asked.create = false;
    CHECK(refusal(SOTTO_ERROR_NOT_FOUND, [&] { Store store(asked); }).find("no store 'lore'") == 0);
    CHECK(folder.files().empty());
    asked.create = true;
    {
        Store store(asked);
        CHECK(refusal(SOTTO_ERROR_BUSY, [&] {
                  Store second(asked);
              }).find("open elsewhere") != std::string::npos);
        CHECK(refusal(SOTTO_ERROR_BUSY, [&] { Store::destroy(folder.text(), "lore"); }) != "");
        store.insert({entry("still", "works")}, false);
    }
    asked.dim = 9;
    CHECK(refusal(SOTTO_ERROR_STATE, [&] { Store store(asked); }).find("invalid dim '9': expected 8") == 0);
    CHECK(stores_in(folder.text()) == std::vector<std::string>{"lore"});
    Store::destroy(folder.text(), "lore");
    CHECK(folder.files().empty());
    CHECK(refusal(SOTTO_ERROR_NOT_FOUND, [&] { Store::destroy(folder.text(), "lore"); }) != "");
}

TEST_CASE("several readers share a store, which they cannot change") {
    const Folder folder;
    auto asked = options(folder);
    {
        Store store(asked);
        store.insert({entry("gate", "open", {1, 0, 0, 0, 0, 0, 0, 0})}, false);
    }
    asked.read_only = true;
    Store first(asked);
    Store second(asked);
    StoreQuery query;
    query.text = "gate";
    CHECK(first.query(query).size() == 1);
    CHECK(second.query(query).size() == 1);
    CHECK(refusal(SOTTO_ERROR_STATE, [&] {
              first.insert({entry("x")}, false);
          }).find("read_only") != std::string::npos);
    CHECK(refusal(SOTTO_ERROR_STATE, [&] { first.compact(); }) != "");
    query.touch = true;
    CHECK(refusal(SOTTO_ERROR_STATE, [&] { first.query(query); }) != "");
}

TEST_CASE("a store of a newer version, of another program, or with tables of others is refused") {
    const Folder folder;
    auto asked = options(folder);
    {
        Store store(asked);
    }
    const auto path = (folder.path() / "lore.db").string();
    const auto change = [&](const char* sql) {
        Database database(path, "lore", Access::exclusive);
        database.run(sql);
    };
    change("PRAGMA user_version = 99");
    CHECK(refusal(SOTTO_ERROR_UNSUPPORTED, [&] {
              Store store(asked);
          }).find("version 99") != std::string::npos);
    change("PRAGMA user_version = 1; CREATE TABLE more(x)");
    CHECK(refusal(SOTTO_ERROR_STATE, [&] { Store store(asked); }).find("did not make") != std::string::npos);
    change("DROP TABLE more; CREATE TRIGGER words_data_x AFTER INSERT ON entries BEGIN SELECT 1; END");
    CHECK(refusal(SOTTO_ERROR_STATE, [&] { Store store(asked); }).find("did not make") != std::string::npos);
    change("DROP TRIGGER words_data_x; DROP INDEX entries_space");
    CHECK(refusal(SOTTO_ERROR_STATE, [&] { Store store(asked); }).find("lacks tables") != std::string::npos);
    change("PRAGMA application_id = 7");
    CHECK(refusal(SOTTO_ERROR_STATE, [&] {
              Store store(asked);
          }).find("another program") != std::string::npos);
}

TEST_CASE("compacting keeps every entry and shrinks the file") {
    const Folder folder;
    Store store(options(folder, 0));
    std::vector<Entry> all;
    for (int i = 0; i < 2000; ++i) {
        all.push_back(entry("key" + std::to_string(i), std::string(1000, 'x')));
    }
    const auto ids = store.insert(all, false);
    store.remove(std::vector<std::string>(ids.begin(), ids.begin() + 1900));
    store.compact();
    CHECK(store.info().file_bytes < 1'000'000);
    CHECK(store.count({}) == 100);
    store.check();
    StoreQuery query;
    query.text = "key1950";
    CHECK(store.query(query).size() == 1);
}

TEST_CASE("texts may be empty or large") {
    const Folder folder;
    Store store(options(folder, 0));
    const std::string large(1 << 20, 'a');
    const auto ids = store.insert({entry("", ""), entry(large, large)}, false);
    CHECK(store.get(ids[1], false)->value.size() == large.size());
    CHECK(refusal(SOTTO_ERROR_ARGUMENT, [&] {
              store.insert({entry(large + "a")}, false);
          }).find("key") != std::string::npos);
    CHECK(refusal(SOTTO_ERROR_ARGUMENT, [&] {
              store.insert({entry("", std::string(17 << 20, 'a'))}, false);
          }) != "");
}

TEST_CASE(
    "the index file of a large store is read, repaired from the database, and built again if it is damaged"
) {
    constexpr std::size_t kCount = VectorSearch::kMaxExact + 500;
    const Folder folder;
    const auto asked = options(folder);
    std::mt19937 random(3);
    std::vector<Entry> all;
    for (std::size_t i = 0; i < kCount; ++i) {
        all.push_back(entry(std::to_string(i), "", random_vector(random)));
    }
    const auto index_file = [&] {
        for (const auto& path : folder.files()) {
            if (path.extension() == ".index") {
                return path;
            }
        }
        return fs::path();
    };
    const auto nearest = [&](Store& store, const std::vector<float>& vector) {
        StoreQuery query;
        query.embedding = vector;
        query.limit = 1;
        const auto found = store.query(query);
        return found.empty() ? "" : found[0].entry.key;
    };
    std::vector<std::string> ids;
    {
        Store store(asked);
        ids = store.insert(all, false);
    }
    REQUIRE(index_file() != fs::path());
    const auto kept = folder.path() / "kept";
    fs::copy_file(index_file(), kept);
    const auto first = index_file();
    {
        Store store(asked); // from the file
        CHECK(index_file() == first);
        CHECK(nearest(store, all[7].embedding) == "7");
        EntryChange moved;
        moved.embedding = random_vector(random);
        CHECK(store.update(ids[7], moved));
        all[7].embedding = *moved.embedding;
        CHECK(store.remove(std::vector<std::string>{ids[8]}) == 1);
        store.insert({entry("new", "", {1, 1, 1, 1, -9, 1, 1, 1})}, false);
    }
    CHECK(index_file() != first);
    const auto check = [&] {
        Store store(asked);
        CHECK(store.info().embeddings == static_cast<std::int64_t>(kCount));
        CHECK(nearest(store, all[7].embedding) == "7");
        CHECK(nearest(store, all[8].embedding) != "8");
        CHECK(nearest(store, {1, 1, 1, 1, -9, 1, 1, 1}) == "new");
        CHECK(nearest(store, all[9].embedding) == "9");
    };
    check();
    SUBCASE("an older file, as after a crash") {
        const auto name = index_file();
        {
            Database database((folder.path() / "lore.db").string(), "lore", Access::exclusive);
            database.run("UPDATE facts SET value = '1' WHERE name = 'index_generation'");
        }
        fs::copy_file(kept, name, fs::copy_options::overwrite_existing);
    }
    SUBCASE("a missing file") {
        fs::remove(index_file());
    }
    SUBCASE("a damaged file") {
        std::fstream file(index_file(), std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(5000);
        file << "damage";
    }
    check();
    CHECK(folder.files().size() == 3); // database, index, and the copy
}
