// Stores of memories: the nodes, and what closes a store.
#include "SottoLibrary.h"
#include "stores.hpp"

using namespace fixture;

TEST_CASE("the nodes of a store insert, find, list and remove") {
    reset_stores();
    const Scripted echo("{}");
    DoublePlay play;
    UWorld* world = &play.world();
    USottoStore* store = USottoStore::OpenStore(TEXT("lore"), 2);
    store->AddToRoot();
    TArray<FSottoStoreEntry> entries = {
        entry(text("The key is under the mat. 👋"), TEXT("Marta")), entry(TEXT("The bridge has fallen."))
    };
    entries[1].Metadata = TEXT("{\"floor\": 1}");
    entries[1].Embedding = {1.0f, 0.0f};
    FSottoStoreResult result =
        run(play, USottoStoreAction::InsertIntoStore(world, store, entries, false, TEXT("embedder.json")));
    REQUIRE(result.Ids.Num() == 2);
    FSottoStoreQuery query;
    query.Text = TEXT("where is the key");
    query.Filter.bAnyNamespace = true;
    for (const FString& model : {FString(), FString(TEXT("embedder.json"))}) {
        const auto found = run(play, USottoStoreAction::QueryStore(world, store, query, model));
        REQUIRE(found.Matches.Num() >= 1);
        CHECK(found.Matches[0].Entry.Id == result.Ids[0]);
        CHECK(found.Matches[0].Entry.Value == entries[0].Value);
        CHECK(found.Matches[0].Score > 0);
    }
    query.Text = FString();
    query.Embedding = {1.0f, 0.0f};
    query.Limit = 1;
    CHECK(
        run(play, USottoStoreAction::QueryStore(world, store, query, FString())).Matches[0].Entry.Id ==
        result.Ids[1]
    );
    FSottoStoreFilter filter;
    CHECK(run(play, USottoStoreAction::ListStore(world, store, filter)).Count == 1); // the default namespace
    filter.bAnyNamespace = true;
    CHECK(run(play, USottoStoreAction::ListStore(world, store, filter)).Count == 2);
    filter.Where = TEXT("{\"floor\": {\"gte\": 1}}");
    const auto listed = run(play, USottoStoreAction::ListStore(world, store, filter));
    REQUIRE(listed.Entries.Num() == 1);
    CHECK(listed.Entries[0].CreatedMs > 1'700'000'000'000);
    CHECK(run(play, USottoStoreAction::RemoveMatchesFromStore(world, store, filter)).Count == 1);
    CHECK(
        run(play, USottoStoreAction::RemoveFromStore(world, store, {result.Ids[0], TEXT("none")})).Count == 1
    );
    store->Close();
    store->RemoveFromRoot();
    CHECK(std::filesystem::exists(double_folders().project / "Saved" / "Sotto" / "lore.db"));
}

TEST_CASE("a call on a store that fails says why") {
    reset_stores();
    const Scripted echo("{}");
    DoublePlay play;
    UWorld* world = &play.world();
    const TArray<FSottoStoreEntry> one = {entry(TEXT("x"))};
    USottoStore* store = USottoStore::OpenStore(TEXT("lore"), 2);
    store->Flush(10'000);
    USottoStore* second = USottoStore::OpenStore(TEXT("lore"), 2); // after the first has opened it
    USottoStore* bad = USottoStore::OpenStore(TEXT("../lore"));
    USottoStore* constructed = NewObject<USottoStore>();
    for (USottoStore* kept : {store, second, bad, constructed}) {
        kept->AddToRoot();
    }
    const auto insert = [&](USottoStore* into, const FString& model = FString()) {
        return run(play, USottoStoreAction::InsertIntoStore(world, into, one, false, model));
    };
    CHECK(insert(store).Status == ESottoStatus::Ok);
    CHECK(insert(second).Status == ESottoStatus::Busy);
    CHECK(insert(bad).Status == ESottoStatus::Argument);
    CHECK(insert(bad).Error.Contains(TEXT("../lore")));
    CHECK(insert(constructed).Error.Contains(TEXT("Open Store")));
    CHECK(insert(nullptr).Error.Contains(TEXT("invalid Store")));
    CHECK(insert(store, TEXT("none.json")).Status == ESottoStatus::NotFound);
    write("Content/poor.json", R"({"response": {"data": []}, "tokens": []})");
    CHECK(insert(store, TEXT("poor.json")).Error.Contains(TEXT("expected 1 vectors, not 0")));
    CHECK(run(play, USottoStoreAction::ListStore(world, store, FSottoStoreFilter())).Count == 1);
    store->Close();
    CHECK(insert(store).Status == ESottoStatus::State);
    USottoStoreAction* nowhere = USottoStoreAction::ListStore(nullptr, store, FSottoStoreFilter());
    nowhere->Activate();
    CHECK_FALSE(nowhere->IsActive());
    CHECK(DoubleTakeLog(ELogVerbosity::Error).Num() == 1);
    for (USottoStore* kept : {store, second, bad, constructed}) {
        kept->RemoveFromRoot();
    }
    CollectGarbage(RF_NoFlags);
}

TEST_CASE("a store is closed when it is collected, and when the library is freed") {
    reset_stores();
    const Scripted echo("{}");
    {
        DoublePlay play;
        const TArray<FSottoStoreEntry> one = {entry(TEXT("Kept"))};
        USottoStore* store = USottoStore::OpenStore(TEXT("lore"));
        run(play, USottoStoreAction::InsertIntoStore(&play.world(), store, one, false, FString()));
        CollectGarbage(RF_NoFlags);
        store = USottoStore::OpenStore(TEXT("lore")); // once the other is closed
        FSottoStoreResult listed;
        for (int i = 0; i < 50 && listed.Count == 0; ++i) {
            listed = run(play, USottoStoreAction::ListStore(&play.world(), store, FSottoStoreFilter()));
            store = USottoStore::OpenStore(TEXT("lore"));
        }
        CHECK(listed.Count == 1);
    }
    USottoStore* open = USottoStore::OpenStore(TEXT("other"));
    open->AddToRoot();
    bool ended = false;
    FSottoStoreDelegate done =
        FSottoStoreDelegate::CreateLambda([&](const FSottoStoreResult&) { ended = true; });
    open->Insert({entry(TEXT("x"))}, false, done);
    FSottoLibrary::Get().Unload(); // waits for the insertion
    CHECK(double_run_until([&] { return ended; }));
    open->RemoveFromRoot();
    CollectGarbage(RF_NoFlags);
    REQUIRE(FSottoLibrary::Get().Load());
}
