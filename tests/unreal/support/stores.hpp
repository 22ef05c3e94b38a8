// What the tests of stores and of characters that remember share.
#pragma once

#include <filesystem>

#include "SottoSettings.h"
#include "SottoStoreAction.h"
#include "fixture.hpp"

namespace fixture {

/** A model that embeds every text as one vector: what is found, words decide. */
constexpr const char* kEmbedder =
    R"({"response": {"data": [{"index": 0, "embedding": [0.5, -0.25]}]}, "tokens": []})";

/** Starts the project with no store, and with the embedder in its settings. */
inline void reset_stores() {
    reset();
    std::filesystem::remove_all(double_folders().project / "Saved" / "Sotto");
    write("Content/embedder.json", kEmbedder);
    GetMutableDefault<USottoSettings>()->EmbeddingModel = TEXT("embedder.json");
    GetMutableDefault<USottoSettings>()->EmbeddingDim = 2;
}

/** Runs a node to its end. */
inline FSottoStoreResult run(DoublePlay& play, USottoStoreAction* action) {
    UTestListener* heard = NewObject<UTestListener>(&play.game());
    play.game().RegisterReferencedObject(heard);
    action->Done.AddDynamic(heard, &UTestListener::HandleStoreDone);
    action->Failed.AddDynamic(heard, &UTestListener::HandleStoreFailed);
    action->Activate();
    REQUIRE(double_run_until([&] { return heard->StoreDone.Num() + heard->StoreFailed.Num() != 0; }));
    CHECK_FALSE(action->IsActive());
    const bool done = heard->StoreDone.Num() == 1;
    CHECK(heard->StoreDone.Num() + heard->StoreFailed.Num() == 1);
    const FSottoStoreResult result = done ? heard->StoreDone[0] : heard->StoreFailed[0];
    CHECK(done == (result.Status == ESottoStatus::Ok));
    CHECK(done == result.Error.IsEmpty());
    return result;
}

inline FSottoStoreEntry entry(const FString& value, const FString& space = FString()) {
    FSottoStoreEntry made;
    made.Value = value;
    made.Namespace = space;
    return made;
}

inline TArray<FSottoStoreEntry> memories(DoublePlay& play, const FString& character) {
    FSottoStoreFilter filter;
    filter.Namespace = character;
    USottoStore* store = subsystem(play).GetMemoryStore();
    return run(play, USottoStoreAction::ListStore(&play.world(), store, filter)).Entries;
}

} // namespace fixture
