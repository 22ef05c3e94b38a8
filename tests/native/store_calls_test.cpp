// The functions of sotto/store.h: handles, invalid arguments, and what they return.
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sotto/sotto.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/folder.hpp"
#include "text/json_reader.hpp"

using sotto::Json;
using test::Folder;

namespace {

constexpr std::size_t kDim = 3;

sotto_str str(std::string_view text) {
    return {text.data(), text.size()};
}

std::string last_error() {
    const auto text = sotto_last_error();
    return {text.data, text.size};
}

Json json(sotto_str text) {
    return Json::parse(std::string_view(text.data, text.size));
}

sotto_status
open(const std::string& folder, sotto_store** store, sotto_store_flags flags = SOTTO_STORE_CREATE) {
    auto desc = SOTTO_INIT(sotto_store_desc);
    desc.folder = str(folder);
    desc.id = str("lore");
    desc.dim = kDim;
    desc.flags = flags;
    return sotto_store_open(&desc, store);
}

// A store that is open until the end of the scope.
struct Opened {
    Opened() { REQUIRE_MESSAGE(open(folder.text(), &store) == SOTTO_OK, last_error()); }
    ~Opened() { sotto_store_close(store); }

    Folder folder;
    sotto_store* store = nullptr;
};

// Calls every function on a handle; returns the number of those that refuse it as an argument.
int refusals(sotto_store* store) {
    sotto_str out{};
    std::uint64_t count = 0;
    const auto nothing = str("{}");
    int refused = 0;
    const auto call = [&](sotto_status status) { refused += status == SOTTO_ERROR_ARGUMENT ? 1 : 0; };
    call(sotto_store_info(store, &out));
    call(sotto_store_insert(store, str("[]"), nullptr, 0, &out));
    call(sotto_store_update(store, str("a"), nothing));
    call(sotto_store_remove(store, nothing, &count));
    call(sotto_store_get(store, str("a"), nothing, &out));
    call(sotto_store_list(store, nothing, &out));
    call(sotto_store_count(store, nothing, &count));
    call(sotto_store_query(store, nothing, nullptr, 0, &out));
    call(sotto_store_backup(store, str("a")));
    call(sotto_store_restore(store, str("a")));
    call(sotto_store_compact(store));
    call(sotto_store_check(store));
    return refused;
}

constexpr int kFunctions = 12;

} // namespace

TEST_CASE("entries go in and come out as JSON, embeddings as floats") {
    Opened opened;
    const float vectors[] = {1, 0, 0, 0, 1, 0};
    const auto entries =
        str(R"([{"id": "a", "value": "silver ring", "metadata": {"n": 1}}, {"id": "b", "key": "k"}])");
    sotto_str out{};
    REQUIRE_MESSAGE(sotto_store_insert(opened.store, entries, vectors, 6, &out) == SOTTO_OK, last_error());
    CHECK(json(out) == Json::parse(R"(["a", "b"])"));
    const float asked[] = {2, 0.1F, 0};
    REQUIRE(
        sotto_store_query(opened.store, str(R"({"text": "ring", "limit": 1})"), asked, 3, &out) == SOTTO_OK
    );
    CHECK(json(out)[0]["id"] == "a");
    CHECK(json(out)[0]["relevance"] == 1.0);
    REQUIRE(sotto_store_get(opened.store, str("b"), str(R"({"with_embedding": true})"), &out) == SOTTO_OK);
    CHECK(json(out)["embedding"] == Json::parse("[0.0, 1.0, 0.0]"));
    CHECK(
        sotto_store_update(opened.store, str("b"), str(R"({"embedding": null, "value": "v"})")) == SOTTO_OK
    );
    REQUIRE(sotto_store_list(opened.store, str(R"({"limit": 1})"), &out) == SOTTO_OK);
    const auto page = json(out);
    CHECK(page["entries"].size() == 1);
    const auto next = Json{{"after", page["next"]}}.dump();
    REQUIRE(sotto_store_list(opened.store, str(next), &out) == SOTTO_OK);
    CHECK(json(out)["entries"][0]["value"] == "v");
    CHECK_FALSE(json(out).contains("next"));
    REQUIRE(sotto_store_info(opened.store, &out) == SOTTO_OK);
    CHECK(json(out)["embeddings"] == 1);
    std::uint64_t count = 0;
    CHECK(sotto_store_count(opened.store, str(R"({"where": {"n": 1}})"), &count) == SOTTO_OK);
    CHECK(count == 1);
    CHECK(sotto_store_remove(opened.store, str(R"({"ids": ["a", "x"]})"), &count) == SOTTO_OK);
    CHECK(count == 1);
    REQUIRE(sotto_store_list_ids(str(opened.folder.text()), &out) == SOTTO_OK);
    CHECK(json(out) == Json::parse(R"(["lore"])"));
    CHECK(sotto_store_get(opened.store, str("x"), {}, &out) == SOTTO_ERROR_NOT_FOUND);
    CHECK(out.size == 0);
}

TEST_CASE("handles that are NULL, stale, forged or of another kind are refused by every function") {
    sotto_store* stale = nullptr;
    {
        Opened opened;
        stale = opened.store;
        CHECK(refusals(stale) == 0);
    }
    CHECK(refusals(nullptr) == kFunctions);
    CHECK(last_error().find("missing store") == 0);
    CHECK(refusals(stale) == kFunctions);
    CHECK(last_error().find("invalid store handle") == 0);
    CHECK(refusals(reinterpret_cast<sotto_store*>(std::uintptr_t{0x1234})) == kFunctions);
    CHECK(refusals(reinterpret_cast<sotto_store*>(~std::uintptr_t{0})) == kFunctions);
    sotto_store_close(stale);
    sotto_store_close(nullptr);
    sotto_engine* engine = nullptr;
    auto desc = SOTTO_INIT(sotto_engine_desc);
    REQUIRE(sotto_engine_create(&desc, &engine) == SOTTO_OK);
    CHECK(refusals(reinterpret_cast<sotto_store*>(engine)) == kFunctions);
    sotto_store_close(reinterpret_cast<sotto_store*>(engine));
    Opened opened;
    CHECK(opened.store != stale);
    CHECK(
        sotto_engine_set_target_tps(reinterpret_cast<sotto_engine*>(opened.store), 1) == SOTTO_ERROR_ARGUMENT
    );
    CHECK(sotto_engine_set_target_tps(engine, 1) == SOTTO_OK);
    sotto_engine_destroy(engine);
}

TEST_CASE("a forked child is refused the parent's stores") {
    Opened opened;
    const auto child = ::fork();
    if (child == 0) {
        const bool right =
            refusals(opened.store) == kFunctions && last_error().find("fork()") != std::string::npos;
        sotto_store_close(opened.store);
        sotto_store* same = nullptr;
        ::_exit(right && open(opened.folder.text(), &same) == SOTTO_ERROR_BUSY ? 0 : 1);
    }
    int status = 1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(refusals(opened.store) == 0);
}

TEST_CASE("invalid arguments are refused by name and change nothing") {
    Opened opened;
    sotto_str out{};
    sotto_store* other = nullptr;
    CHECK(sotto_store_open(nullptr, &other) == SOTTO_ERROR_ARGUMENT);
    CHECK(open(opened.folder.text(), nullptr) == SOTTO_ERROR_ARGUMENT);
    CHECK(open(opened.folder.text(), &other, 64) == SOTTO_ERROR_UNSUPPORTED);
    CHECK(open("", &other) == SOTTO_ERROR_ARGUMENT);
    CHECK(open(opened.folder.text(), &other) == SOTTO_ERROR_BUSY);
    CHECK(other == nullptr);
    const float vector[] = {1, 2, 3};
    const float wrong[] = {1, 2, 3, 4};
    const auto one = str(R"([{"value": "x"}])");
    CHECK(sotto_store_insert(opened.store, one, vector, 2, &out) == SOTTO_ERROR_STATE);
    CHECK(sotto_store_insert(opened.store, one, wrong, 4, &out) == SOTTO_ERROR_STATE);
    CHECK(sotto_store_insert(opened.store, one, nullptr, 3, &out) == SOTTO_ERROR_ARGUMENT);
    CHECK(sotto_store_insert(opened.store, one, vector, SIZE_MAX, &out) == SOTTO_ERROR_ARGUMENT);
    CHECK(sotto_store_insert(opened.store, str("[]"), vector, 3, &out) == SOTTO_ERROR_ARGUMENT);
    CHECK(sotto_store_insert(opened.store, str("[{"), nullptr, 0, &out) == SOTTO_ERROR_ARGUMENT);
    CHECK(sotto_store_insert(opened.store, str("[{}]"), nullptr, 0, &out) == SOTTO_ERROR_ARGUMENT);
    CHECK(last_error().find("missing entries[0].value") == 0);
    CHECK(sotto_store_insert(opened.store, {nullptr, 5}, nullptr, 0, &out) == SOTTO_ERROR_ARGUMENT);
    CHECK(sotto_store_query(opened.store, {}, wrong, 4, &out) == SOTTO_ERROR_STATE);
    CHECK(sotto_store_query(opened.store, str(R"({"limit": 1e9})"), vector, 3, &out) == SOTTO_ERROR_ARGUMENT);
    CHECK(sotto_store_query(opened.store, {}, vector, 3, nullptr) == SOTTO_ERROR_ARGUMENT);
    CHECK(sotto_store_remove(opened.store, {}, nullptr) == SOTTO_ERROR_ARGUMENT); // {} would remove all
    CHECK(
        sotto_store_remove(opened.store, str(R"({"ids": [], "namespace": "a"})"), nullptr) ==
        SOTTO_ERROR_ARGUMENT
    );
    CHECK(sotto_store_delete(str(opened.folder.text()), str("../lore")) == SOTTO_ERROR_ARGUMENT);
    CHECK(sotto_store_delete(str(opened.folder.text()), str("none")) == SOTTO_ERROR_NOT_FOUND);
    std::uint64_t count = 1;
    CHECK(sotto_store_count(opened.store, {}, &count) == SOTTO_OK);
    CHECK(count == 0);
}

TEST_CASE("a store closes while other threads call it") {
    Folder folder;
    for (int round = 0; round < 10; ++round) {
        sotto_store* store = nullptr;
        REQUIRE(open(folder.text(), &store) == SOTTO_OK);
        std::atomic<int> inserted{0};
        std::vector<std::thread> threads;
        for (int i = 0; i < 3; ++i) {
            threads.emplace_back([&] {
                while (sotto_store_insert(store, str(R"([{"value": "x"}])"), nullptr, 0, nullptr) ==
                       SOTTO_OK) {
                    ++inserted;
                }
            });
        }
        while (inserted == 0) {
            std::this_thread::yield();
        }
        sotto_store_close(store);
        for (auto& thread : threads) {
            thread.join();
        }
    }
}
