// Stores and memories of the plugin's engine-free part, with the real library.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include <dlfcn.h>
#include <unistd.h>

#include "Core/Json.h"
#include "Core/Memories.h"
#include "Core/Sha256.h"
#include "Core/Waiting.h"
#include "Core/WorkQueue.h"

#define DOCTEST_CONFIG_NO_EXCEPTIONS_BUT_WITH_ALL_ASSERTS
#include <doctest/doctest.h>

using namespace SottoCore;
namespace fs = std::filesystem;

namespace {

/** The library that was built; it stays loaded. */
const FApi& library() {
    static FApi api;
    if (!api.IsLoaded()) {
        const char* folder = std::getenv("SOTTO_TEST_LIBRARY");
        REQUIRE(folder != nullptr);
        void* opened = dlopen((fs::path(folder) / "libsotto.so").c_str(), RTLD_NOW);
        REQUIRE(opened != nullptr);
        std::string reason;
        REQUIRE(api.Load([](void* from, const char* name) { return dlsym(from, name); }, opened, reason));
    }
    return api;
}

/** An empty folder, removed at the end. */
class Folder {
public:
    Folder() : path_(fs::temp_directory_path() / ("sotto-memories-" + std::to_string(getpid()))) {
        fs::remove_all(path_);
    }
    ~Folder() { fs::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::string string() const { return path_.string(); }

private:
    fs::path path_;
};

/** Embeds a text by which of four words it has. */
FOutcome embed(const std::vector<std::string>& texts, std::vector<std::vector<float>>& vectors) {
    for (const std::string& text : texts) {
        std::vector<float> vector = {0.1F};
        for (const char* word : {"cellar", "bridge", "stew", "ring"}) {
            vector.push_back(text.find(word) == std::string::npos ? 0.0F : 1.0F);
        }
        vectors.push_back(vector);
    }
    return {};
}

/** The memories of a character, with a clock that the test sets. */
struct Mara {
    explicit Mara(const std::string& folder, const std::string& name = "Mara")
        : store(library()), memories(store, name, &embed, [this] { return now; }) {
        const FOutcome opened = store.Open(folder, "memories", 5, SOTTO_STORE_CREATE);
        REQUIRE_MESSAGE(static_cast<bool>(opened), opened.Error);
    }
    std::vector<std::string> recall(const std::string& about, const std::vector<std::string>& without = {}) {
        std::vector<FMemory> found;
        CHECK(memories.Recall(about, 2, without, found));
        std::vector<std::string> texts;
        for (const FMemory& one : found) {
            texts.push_back(one.Text);
        }
        return texts;
    }
    std::vector<FMemory> list() {
        std::vector<FMemory> all;
        CHECK(memories.List(all));
        return all;
    }
    double now = 1'767'225'600;
    FStore store;
    FMemories memories;
};

} // namespace

TEST_CASE("SHA-256 of known texts") {
    CHECK(Sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    CHECK(Sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(
        Sha256(std::string(1'000'000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
    );
    for (std::size_t size = 54; size < 66; ++size) { // around the border of a block
        CHECK(Sha256(std::string(size, 'a')) != Sha256(std::string(size + 1, 'a')));
    }
}

TEST_CASE("a line and its id are those of Python and C#") {
    CHECK(MemoryLine(" a\t b\r\n\u00A0c\u2003\u3000d \u200B") == "a b c d \u200B");
    CHECK(MemoryLine("\x1C\x1D") == "");
    CHECK(MemoryLine("\x01") == "\x01");
    CHECK(
        ExchangeOf("", "Hello\n\nthere", " Good evening. ") ==
        "The visitor said: Hello there You said: Good evening."
    );
    CHECK(ExchangeOf("Ilse", "Hi", "Hm.") == "Ilse said: Hi You said: Hm.");
    // hashlib.sha256("The cellar is locked after dusk.".encode()).hexdigest()[:32]
    CHECK(MemoryId("Mara", "The cellar is locked after dusk.") == "Mara/dabc9269c51ccc79e5f6beb2a1a2fc3b");
}

TEST_CASE("a character recalls what fits, by words and by meaning, and forgets the weakest") {
    const Folder folder;
    Mara mara(folder.string());
    CHECK(mara.memories.Tell("The cellar is locked\nafter dusk.", FMemories::kFactImportance));
    CHECK(mara.memories.Overhear("The bridge has fallen.", "Odo", FMemories::kFactImportance));
    const std::string exchange = ExchangeOf("Ilse", "How much is stew?", "4 copper.");
    CHECK(mara.memories.Remember(exchange));
    CHECK(mara.recall("When is the cellar locked?").at(0) == "The cellar is locked after dusk.");
    CHECK(mara.recall("What of the bridge?").at(0) == "Odo said: The bridge has fallen.");
    CHECK(mara.recall("stew").at(0) == exchange);
    CHECK(mara.recall("stew", {exchange}).at(0) != exchange);
    CHECK(mara.recall(" \n").empty());
    std::vector<FMemory> all = mara.list();
    REQUIRE(all.size() == 3);
    CHECK(all[0].Kind == EMemoryKind::Fact);
    CHECK(all[0].Importance == doctest::Approx(0.8));
    CHECK(all[1].Kind == EMemoryKind::Heard);
    CHECK(all[2].Kind == EMemoryKind::Said);
    CHECK(all[2].Used == doctest::Approx(mara.now));
    mara.now += 1000;
    CHECK(mara.memories.Tell("The cellar is locked after dusk.", 0.5)); // known: becomes recent again
    CHECK(mara.memories.Use({all[1], {"Mara/gone", "", EMemoryKind::Fact, 0, 0}}));
    CHECK(mara.memories.Tell("  ", 1)); // nothing
    all = mara.list();
    REQUIRE(all.size() == 3);
    CHECK(all[0].Importance == doctest::Approx(0.5));
    CHECK(all[0].Used == doctest::Approx(mara.now));
    CHECK(all[1].Used == doctest::Approx(mara.now));
    mara.memories.Forgetting = {10, 3600};
    for (int i = 0; i < 9; ++i) {
        mara.now += 60;
        CHECK(mara.memories.Tell("Fact " + std::to_string(i), i == 0 ? 1 : 0.5));
    }
    all = mara.list();
    CHECK(all.size() <= 10);
    CHECK(std::any_of(all.begin(), all.end(), [](const FMemory& one) { return one.Text == "Fact 0"; }));
    CHECK(std::none_of(all.begin(), all.end(), [&](const FMemory& one) { return one.Text == exchange; }));
}

TEST_CASE("characters share a store, and what they remember outlives it") {
    const Folder folder;
    {
        Mara mara(folder.string());
        CHECK(mara.memories.Tell("The ring is in the well.", 0.8));
        FMemories odo(mara.store, "Odo", &embed, [] { return 1.0; });
        CHECK(odo.Tell("The ring is lost.", 0.8));
        std::vector<FMemory> found;
        CHECK(odo.Recall("ring", 5, {}, found));
        REQUIRE(found.size() == 1);
        CHECK(found[0].Text == "The ring is lost.");
        FStore second(library());
        CHECK(second.Open(folder.string(), "memories", 5, 0).Status == SOTTO_ERROR_BUSY);
    }
    Mara mara(folder.string());
    CHECK(mara.recall("ring") == std::vector<std::string>{"The ring is in the well."});
    mara.store.Close();
    std::vector<FMemory> none;
    CHECK(mara.memories.Recall("ring", 5, {}, none).Status == SOTTO_ERROR_STATE);
    CHECK(mara.memories.Tell("More", 1).Status == SOTTO_ERROR_STATE);
}

TEST_CASE("entries of a store, filters and queries") {
    const Folder folder;
    FStore store(library());
    std::vector<std::string> ids;
    std::vector<FStoreEntry> entries(1);
    CHECK(store.Insert(entries, false, ids).Error.find("open it first") != std::string::npos);
    CHECK(store.Open(folder.string(), "../lore", 0, SOTTO_STORE_CREATE).Status == SOTTO_ERROR_ARGUMENT);
    CHECK(store.Open(folder.string(), "lore", 0, 0).Status == SOTTO_ERROR_NOT_FOUND);
    REQUIRE(store.Open(folder.string(), "lore", 2, SOTTO_STORE_CREATE));
    entries.resize(1500);
    for (std::size_t i = 0; i < entries.size(); ++i) {
        entries[i].Value = "Entry \"" + std::to_string(i) + "\" \xF0\x9F\x91\x8B";
        entries[i].Space = i % 2 == 0 ? "even" : "";
        entries[i].Metadata = R"({"floor": )" + std::to_string(i % 3) + "}";
        entries[i].Embedding = {1.0F, static_cast<float>(i) / 1500};
    }
    const FOutcome inserted = store.Insert(entries, false, ids);
    REQUIRE_MESSAGE(static_cast<bool>(inserted), inserted.Error);
    CHECK(ids.size() == 1500);
    FStoreFilter any;
    any.bAnySpace = true;
    std::vector<FStoreEntry> listed;
    CHECK(store.List(any, listed)); // two pages
    REQUIRE(listed.size() == 1500);
    CHECK(listed[1499].Value == entries[1499].Value);
    CHECK(listed[1].Id == ids[1]);
    CHECK(listed[1].CreatedMs > 1'700'000'000'000);
    uint64_t count = 0;
    CHECK(store.Count({}, count)); // of the namespace ""
    CHECK(count == 750);
    any.Where = R"({"floor": {"lt": 1}})";
    CHECK(store.Count(any, count));
    CHECK(count == 500);
    FStoreQuery query;
    query.Filter.bAnySpace = true;
    query.Embedding = {1.0F, 0.0F};
    query.Limit = 3;
    std::vector<FStoreMatch> matches;
    CHECK(store.Query(query, matches));
    REQUIRE(matches.size() == 3);
    CHECK(matches[0].Entry.Id == ids[0]);
    CHECK(matches[0].Relevance == doctest::Approx(1));
    CHECK(matches[0].Score >= matches[1].Score);
    query.Embedding = {1.0F};
    CHECK_FALSE(store.Query(query, matches));
    query.Embedding.clear();
    query.Text = "777";
    matches.clear();
    CHECK(store.Query(query, matches));
    REQUIRE(matches.size() == 1);
    CHECK(matches[0].Entry.Value == entries[777].Value);
    CHECK(store.Insert({listed[5]}, false, ids).Status == SOTTO_ERROR_STATE); // the id exists
    listed[5].Value = "Replaced";
    CHECK(store.Insert({listed[5]}, true, ids));
    CHECK(store.Update(listed[5].Id, R"({"priority": 7})"));
    CHECK(store.Update("none", "{}").Status == SOTTO_ERROR_NOT_FOUND);
    CHECK(store.Remove({listed[5].Id, "none"}, count));
    CHECK(count == 1);
    CHECK(store.RemoveWhere(any, count));
    CHECK(count == 500);
}

TEST_CASE("work runs in order, on other threads, and can be waited for") {
    std::vector<std::thread> threads;
    FWorkQueue queue([&](FWorkQueue::FWork work) { threads.emplace_back(std::move(work)); });
    CHECK(queue.WaitFor(std::chrono::milliseconds(0)));
    std::vector<int> ran; // guarded by the queue: one function at a time
    for (int i = 0; i < 1000; ++i) {
        queue.Add([&ran, i] { ran.push_back(i); });
    }
    queue.Wait();
    REQUIRE(ran.size() == 1000);
    CHECK(std::is_sorted(ran.begin(), ran.end()));
    std::atomic<bool> open = false;
    queue.Add([&] {
        while (!open) {
            std::this_thread::yield();
        }
    });
    CHECK_FALSE(queue.WaitFor(std::chrono::milliseconds(1)));
    open = true;
    queue.Wait();
    for (std::thread& thread : threads) {
        thread.join();
    }
}

TEST_CASE("waiting for a request ends with an error once the engine is gone") {
    std::vector<std::vector<float>> vectors;
    size_t tokens = 0;
    CHECK(EmbedAndWait(library(), nullptr, "minilm", {"x"}, vectors).Status == SOTTO_ERROR_ARGUMENT);
    CHECK(CountTokensAndWait(library(), nullptr, "minilm", "x", tokens).Status == SOTTO_ERROR_ARGUMENT);
}
