// Save games: all conversations of a game instance in one file.
#include "SottoGameAction.h"
#include "SottoPaths.h"
#include "SottoSaveGame.h"
#include "SottoSettings.h"
#include "fixture.hpp"

using namespace fixture;

namespace {

const FString kSlot = TEXT("SaveGames/Slot1.sotto");

UTestListener* listen(DoublePlay& play, USottoGameAction& action) {
    UTestListener* heard = NewObject<UTestListener>(&play.game());
    play.game().RegisterReferencedObject(heard);
    action.Progress.AddDynamic(heard, &UTestListener::HandleGameProgress);
    action.Done.AddDynamic(heard, &UTestListener::HandleGame);
    action.Failed.AddDynamic(heard, &UTestListener::HandleGame);
    return heard;
}

/** Runs a node to its end. */
FSottoSavedGame run(DoublePlay& play, USottoGameAction* action) {
    UTestListener* heard = listen(play, *action);
    action->Activate();
    REQUIRE(double_run_until([&] { return heard->Games.Num() != 0; }));
    CHECK(heard->Games.Num() == 1);
    CHECK_FALSE(action->IsActive());
    return heard->Games[0];
}

FSottoSavedGame save(DoublePlay& play, const FString& path = kSlot) {
    return run(play, USottoGameAction::SaveGame(&play.world(), path));
}

FSottoSavedGame restore(DoublePlay& play, const FString& path = kSlot) {
    return run(play, USottoGameAction::RestoreGame(&play.world(), path));
}

} // namespace

TEST_CASE("a game is saved to one file, and its conversations go on in another session") {
    reset();
    std::string before;
    {
        DoublePlay play;
        Character marta(play.world(), TEXT("Marta"));
        Character tobin(play.world(), TEXT("Tobin"));
        answer(marta, TEXT("How much is stew?"));
        answer(tobin, TEXT("What news?"));
        before = read(play, TEXT("Marta"));
        const FSottoSavedGame saved = save(play);
        CHECK(saved.Status == ESottoStatus::Ok);
        CHECK(saved.Error.IsEmpty());
        CHECK(saved.Conversations == 2);
        CHECK(saved.Messages == 6); // two sheets, two questions, two answers
        const auto file = double_folders().project / "Saved" / "SaveGames" / "Slot1.sotto";
        CHECK(saved.Bytes == static_cast<int64>(std::filesystem::file_size(file)));
    }
    DoublePlay play;
    const FSottoSavedGame restored = restore(play);
    CHECK(restored.Status == ESottoStatus::Ok);
    CHECK(restored.Conversations == 2);
    CHECK(subsystem(play).GetHost().OpenConversations().Num() == 2);
    CHECK(read(play, TEXT("Marta")) == before);
    Character marta(play.world(), TEXT("Marta"));
    marta.component->Sheet->Prices = {TEXT("stew: 7 silver")}; // the sheet that it has now
    answer(marta, TEXT("How much is stew?"));
    CHECK(marta.listener->Done[0].Text.Contains(TEXT("7 silver")));
    const std::string after = read(play, TEXT("Marta"));
    CHECK(has(after, "4 copper"));
    CHECK(DoubleTakeLog(ELogVerbosity::Error).IsEmpty());
}

TEST_CASE("what is said while a game is restored waits for the end, and continues the conversation") {
    reset();
    const Scripted echo("{}");
    {
        DoublePlay play;
        answer(Character(play.world(), TEXT("Marta")), TEXT("The first line"));
        CHECK(save(play).Conversations == 1);
    }
    DoublePlay play;
    REQUIRE(double_run_until([&] { return subsystem(play).IsModelReady(FString()); }));
    USottoGameAction* action = USottoGameAction::RestoreGame(&play.world(), kSlot);
    UTestListener* heard = listen(play, *action);
    action->Activate();
    Character marta(play.world(), TEXT("Marta"));
    Character tobin(play.world(), TEXT("Tobin"));
    marta.component->Say(TEXT("The second line"));
    tobin.component->Say(TEXT("Hello?"));
    const int64 third = tobin.component->Say(TEXT("Never mind."));
    subsystem(play).Cancel(third);
    FSottoTurn alone;
    alone.Text = TEXT("In no conversation");
    bool answered = false;
    FSottoHandlers handlers;
    handlers.Ended.BindLambda([&](const FSottoAnswer& one) { answered = one.Status == ESottoStatus::Ok; });
    subsystem(play).Say(alone, handlers);
    REQUIRE(double_run_until([&] {
        return marta.listener->HasEnded() && tobin.listener->Done.Num() == 1 && answered;
    }));
    CHECK(heard->Games.Num() == 1);
    CHECK(marta.listener->Done.Num() == 1);
    REQUIRE(tobin.listener->Failed.Num() == 1);
    CHECK(tobin.listener->Failed[0].Status == ESottoStatus::Cancelled);
    const std::string messages = read(play, TEXT("Marta"));
    CHECK(has(messages, "The first line"));
    CHECK(has(messages, "The second line"));
    CHECK(messages.find("The first line") < messages.find("The second line"));
}

TEST_CASE("a restored game replaces conversations of its names and leaves others") {
    reset();
    const Scripted echo("{}");
    DoublePlay play;
    Character marta(play.world(), TEXT("Marta"));
    Character tobin(play.world(), TEXT("Tobin"));
    answer(marta, TEXT("Saved"));
    CHECK(save(play).Conversations == 1);
    answer(marta, TEXT("Undone"));
    answer(tobin, TEXT("Kept"));
    CHECK(restore(play).Conversations == 1);
    CHECK(has(read(play, TEXT("Marta")), "Saved"));
    CHECK_FALSE(has(read(play, TEXT("Marta")), "Undone"));
    CHECK(has(read(play, TEXT("Tobin")), "Kept"));
    answer(marta, TEXT("And now"));
    CHECK(has(read(play, TEXT("Marta")), "And now"));
}

TEST_CASE("a game holds conversations that were restored from a save-game object and not continued") {
    reset();
    const Scripted echo("{}");
    USottoSaveGame* object = NewObject<USottoSaveGame>();
    object->AddToRoot();
    FSottoConversation kept;
    kept.Name = TEXT("Odo");
    kept.Messages = TEXT("[{\"role\": \"user\", \"content\": \"From another save\"}]");
    object->Conversations.Add(kept);
    {
        DoublePlay play;
        subsystem(play).RestoreConversations(object);
        CHECK(save(play).Conversations == 1);
    }
    DoublePlay play;
    CHECK(restore(play).Conversations == 1);
    CHECK(has(read(play, TEXT("Odo")), "From another save"));
    object->RemoveFromRoot();
}

TEST_CASE("a game that cannot be saved or restored says why, and changes nothing") {
    reset();
    const Scripted echo("{}");
    DoublePlay play;
    Character marta(play.world(), TEXT("Marta"));
    answer(marta, TEXT("Kept"));
    FSottoSavedGame failed = restore(play, TEXT("SaveGames/none.sotto"));
    CHECK(failed.Status == ESottoStatus::NotFound);
    CHECK(failed.Error.Contains(TEXT("Saved/SaveGames/none.sotto")));
    write("Saved/SaveGames/text.sotto", "no save game");
    failed = restore(play, TEXT("SaveGames/text.sotto"));
    CHECK(failed.Status == ESottoStatus::Model);
    CHECK_FALSE(failed.Error.IsEmpty());
    CHECK(save(play, FString()).Status == ESottoStatus::Argument);
    CHECK(save(play, TEXT("SaveGames")).Status == ESottoStatus::Argument); // a folder
    CHECK(has(read(play, TEXT("Marta")), "Kept"));
    answer(marta, TEXT("Still here"));
    CHECK(has(read(play, TEXT("Marta")), "Still here"));
    USottoGameAction* nowhere = USottoGameAction::SaveGame(nullptr, kSlot);
    nowhere->Activate();
    CHECK_FALSE(nowhere->IsActive());
    const TArray<FString> errors = DoubleTakeLog(ELogVerbosity::Error);
    REQUIRE(errors.Num() == 1);
    CHECK(errors[0].EndsWith(TEXT("invalid world context: it belongs to no running game")));
    subsystem(play).GetHost().Stop(TEXT("stopped"), true);
    failed = save(play);
    CHECK(failed.Status == ESottoStatus::State);
    CHECK(failed.Error == TEXT("stopped"));
    CHECK(restore(play).Status == ESottoStatus::State);
}

TEST_CASE("stopping while a game is restored ends the node, and the turns that wait for it") {
    reset();
    const Scripted echo("{}");
    {
        DoublePlay play;
        answer(Character(play.world(), TEXT("Marta")), TEXT("Saved"));
        save(play);
    }
    DoublePlay play;
    REQUIRE(double_run_until([&] { return subsystem(play).IsModelReady(FString()); }));
    USottoGameAction* action = USottoGameAction::RestoreGame(&play.world(), kSlot);
    UTestListener* heard = listen(play, *action);
    action->Activate();
    Character marta(play.world(), TEXT("Marta"));
    marta.component->Say(TEXT("Hello?"));
    subsystem(play).GetHost().Stop(TEXT("stopped"), true);
    double_frame();
    REQUIRE(heard->Games.Num() == 1);
    CHECK(heard->Games[0].Status == ESottoStatus::Cancelled);
    REQUIRE(marta.listener->Failed.Num() == 1);
    CHECK(marta.listener->Failed[0].Status == ESottoStatus::Cancelled);
}
