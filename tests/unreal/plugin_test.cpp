// The plugin's Blueprint surface, its settings, its editor module, and libraries that do not fit.
#include <fstream>

#include "GameDelegates.h"
#include "GameFramework/PlayerController.h"
#include "Misc/AutomationTest.h"
#include "Misc/ConfigCacheIni.h"
#include "PropertyEditorModule.h"
#include "SottoAnswerAction.h"
#include "SottoInnkeeper.h"
#include "SottoLibrary.h"
#include "SottoLoadModelAction.h"
#include "SottoPaths.h"
#include "SottoSaveGame.h"
#include "SottoSettings.h"
#include "Stats/Stats.h"
#include "fixture.hpp"

using namespace fixture;

namespace {

UTestListener* listener(DoublePlay& play) {
    UTestListener* made = NewObject<UTestListener>(&play.game());
    play.game().RegisterReferencedObject(made);
    return made;
}

UTestListener* listen(DoublePlay& play, USottoAnswerAction& action) {
    UTestListener* made = listener(play);
    action.Partial.AddDynamic(made, &UTestListener::HandlePinPartial);
    action.Sentence.AddDynamic(made, &UTestListener::HandlePinSentence);
    action.Done.AddDynamic(made, &UTestListener::HandlePinDone);
    action.Failed.AddDynamic(made, &UTestListener::HandlePinFailed);
    return made;
}

/** Loads a library that must be refused, and returns the reason. */
FString refused(const std::filesystem::path& file) {
    FSottoLibrary::Get().Unload();
    CHECK_FALSE(FSottoLibrary::Get().LoadFrom(text(file.string())));
    CHECK_FALSE(FSottoLibrary::Get().IsLoaded());
    DoublePlay play; // the game starts all the same
    CHECK_FALSE(subsystem(play).IsRunning());
    CHECK(subsystem(play).GetInertReason() == FSottoLibrary::Get().InertReason());
    Character marta(play.world(), TEXT("Marta"));
    marta.component->Say(TEXT("How much is stew?"));
    double_frame();
    REQUIRE(marta.listener->Failed.Num() == 1);
    CHECK(marta.listener->Failed[0].Status == ESottoStatus::State);
    subsystem(play).SetMode(ESottoMode::PrioritizeGraphics);
    subsystem(play).SetMemoryBudget(1);
    subsystem(play).SetTargetTps(1);
    CHECK(subsystem(play).GetFigures().Live == 0);
    CHECK(subsystem(play).GetHost().Describe().IsEmpty());
    const FString reason = FSottoLibrary::Get().InertReason();
    CHECK(DoubleTakeLog(ELogVerbosity::Error).Contains(FString(TEXT("Sotto is off: ")) + reason));
    play.stop();
    FSottoLibrary::Get().Load();
    REQUIRE(FSottoLibrary::Get().IsLoaded());
    return reason;
}

} // namespace

TEST_CASE(
    "a library that is missing, of another version or of another architecture leaves the plugin inert"
) {
    reset();
    CHECK(refused("/no/such/libsotto.so")
              .Contains(TEXT("the library '/no/such/libsotto.so' is missing; install")));
    const std::filesystem::path other = std::getenv("SOTTO_UNREAL_OTHER_LIBRARY");
    CHECK(refused(other).Contains(TEXT("invalid library version '9.1.0': expected 0.1.0")));
    std::ifstream file(library() / "libsotto.so", std::ios::binary);
    std::string head(4096, '\0');
    file.read(head.data(), static_cast<std::streamsize>(head.size()));
    head[18] = '\xb7';
    CHECK(refused(write("arm.so", head))
              .Contains(TEXT("is a library for Linux (ELF), aarch64; install the package")));
    CHECK(refused(write("text.so", "no library at all")).Contains(TEXT("which is no library; install")));
    CHECK(refused(write("empty.so", "")).Contains(TEXT("an empty or unreadable file")));
}

TEST_CASE("the async node executes its pins, for one character among several") {
    reset();
    DoublePlay play;
    Character marta(play.world(), TEXT("Marta"));
    Character tobin(play.world(), TEXT("Tobin"));
    USottoAnswerAction* one =
        USottoAnswerAction::SayToCharacter(&play.world(), marta.component, TEXT("How much is stew?"));
    USottoAnswerAction* two =
        USottoAnswerAction::SayToCharacter(&play.world(), tobin.component, TEXT("What news?"));
    UTestListener* first = listen(play, *one);
    UTestListener* second = listen(play, *two);
    one->Activate();
    two->Activate();
    CollectGarbage(RF_NoFlags); // the game instance keeps the nodes
    REQUIRE(double_run_until([&] { return first->HasEnded() && second->HasEnded(); }));
    REQUIRE(first->Done.Num() == 1);
    CHECK(first->Done[0].Text.Contains(TEXT("4 copper")));
    CHECK(first->Text == first->Done[0].Text);
    CHECK(first->Sentences.Num() >= 1);
    CHECK(second->Done.Num() == 1);
    CHECK(marta.listener->Done.Num() == 1); // the component's own events come too
    CHECK_FALSE(one->IsActive());
}

TEST_CASE("an async node that is cancelled executes no pin any more") {
    reset();
    GetMutableDefault<USottoSettings>()->TargetTps = 10;
    DoublePlay play;
    Character marta(play.world(), TEXT("Marta"));
    USottoAnswerAction* action =
        USottoAnswerAction::SayToCharacter(&play.world(), marta.component, TEXT("How much is stew?"));
    UTestListener* heard = listen(play, *action);
    action->Activate();
    REQUIRE(double_run_until([&] { return heard->Partials != 0; }));
    const int32 partials = heard->Partials;
    action->Cancel();
    REQUIRE(double_run_until([&] { return marta.listener->HasEnded(); }));
    CHECK(heard->Partials == partials);
    CHECK_FALSE(heard->HasEnded());
    REQUIRE(marta.listener->Failed.Num() == 1);
    CHECK(marta.listener->Failed[0].Status == ESottoStatus::Cancelled);
}

TEST_CASE("a single question to a model, and its failures") {
    reset();
    DoublePlay play;
    FSottoTurn turn;
    turn.System = TEXT("Name: Marta\nRole: innkeeper\nPrices:\n- stew: 4 copper");
    turn.Text = TEXT("How much is stew?");
    turn.MaxTokens = 64;
    turn.Temperature = 0;
    USottoAnswerAction* action = USottoAnswerAction::AskModel(&play.world(), turn);
    UTestListener* heard = listen(play, *action);
    action->Activate();
    REQUIRE(double_run_until([&] { return heard->HasEnded(); }));
    REQUIRE(heard->Done.Num() == 1);
    CHECK(heard->Done[0].Text.Contains(TEXT("4 copper")));
    turn.Fields = TEXT("no JSON");
    action = USottoAnswerAction::AskModel(&play.world(), turn);
    heard = listen(play, *action);
    action->Activate();
    REQUIRE(double_run_until([&] { return heard->HasEnded(); }));
    REQUIRE(heard->Failed.Num() == 1);
    CHECK(heard->Failed[0].Status == ESottoStatus::Argument);
    action = USottoAnswerAction::SayToCharacter(&play.world(), nullptr, TEXT("Hello?"));
    heard = listen(play, *action);
    action->Activate();
    REQUIRE(heard->Failed.Num() == 1);
    CHECK(heard->Failed[0].Error.Contains(TEXT("invalid Character")));
    USottoAnswerAction* nowhere = USottoAnswerAction::AskModel(nullptr, turn);
    nowhere->Activate(); // in no game: no pin can be executed, and nothing breaks
    CHECK_FALSE(nowhere->IsActive());
}

TEST_CASE("the node that loads a model reports progress, readiness and failure") {
    reset();
    GetMutableDefault<USottoSettings>()->bLoadAtStart = false;
    DoublePlay play;
    CHECK_FALSE(subsystem(play).IsModelReady(FString()));
    for (const FString& model : {FString(), FString(TEXT("none.gguf"))}) {
        USottoLoadModelAction* action = USottoLoadModelAction::LoadModel(&play.world(), model);
        UTestListener* heard = listener(play);
        action->Progress.AddDynamic(heard, &UTestListener::HandleProgress);
        action->Ready.AddDynamic(heard, &UTestListener::HandleReady);
        action->Failed.AddDynamic(heard, &UTestListener::HandleLoadFailed);
        action->Activate();
        REQUIRE(double_run_until([&] { return heard->HasEnded(); }));
        CHECK(heard->Done.Num() == (model.IsEmpty() ? 1 : 0));
        if (!model.IsEmpty()) {
            CHECK(heard->Failed[0].Status == ESottoStatus::NotFound);
            CHECK(heard->Failed[0].Error.Contains(TEXT("none.gguf")));
        }
    }
    CHECK(subsystem(play).IsModelReady(FString()));
}

TEST_CASE("conversations are stored in a save game, and go on in another session") {
    reset();
    const Scripted echo("{}");
    USottoSaveGame* save = NewObject<USottoSaveGame>();
    save->AddToRoot();
    {
        DoublePlay play;
        Character marta(play.world(), TEXT("Marta"));
        marta.component->Say(text("A \"quoted\" line\nand 👋"));
        REQUIRE(double_run_until([&] { return marta.listener->HasEnded(); }));
        UTestListener* heard = listener(play);
        subsystem(play).OnConversationsStored.AddDynamic(heard, &UTestListener::HandleStored);
        subsystem(play).StoreConversations(save);
        subsystem(play).StoreConversations(save); // refused: the first is not done
        CHECK(DoubleTakeLog(ELogVerbosity::Error).Num() == 1);
        REQUIRE(double_run_until([&] { return heard->bStored; }));
        CHECK(heard->Missing.IsEmpty());
        subsystem(play).StoreConversations(nullptr);
        subsystem(play).RestoreConversations(nullptr);
        CHECK(DoubleTakeLog(ELogVerbosity::Error).Num() == 2);
    }
    REQUIRE(save->Conversations.Num() == 1);
    const FString messages = *save->Conversations.Find(TEXT("Marta"));
    CHECK(messages.Contains(text("👋")));
    CHECK(messages.Contains(TEXT("assistant")));
    DoublePlay play;
    subsystem(play).RestoreConversations(save);
    Character marta(play.world(), TEXT("Marta"));
    marta.component->Say(TEXT("Second line"));
    REQUIRE(double_run_until([&] { return marta.listener->HasEnded(); }));
    FSottoHandlers handlers;
    FString read;
    handlers.Ended.BindLambda([&](const FSottoAnswer& answer) { read = answer.Text; });
    subsystem(play).GetHost().ReadConversation(TEXT("Marta"), handlers);
    REQUIRE(double_run_until([&] { return !read.IsEmpty(); }));
    CHECK(read.Contains(text("👋")));
    CHECK(read.Contains(TEXT("Second line")));
    subsystem(play).CloseConversation(TEXT("Marta"));
    CHECK(subsystem(play).GetHost().OpenConversations().IsEmpty());
    save->RemoveFromRoot();
}

TEST_CASE("a character answers one question at a time, and fails the second") {
    reset();
    GetMutableDefault<USottoSettings>()->TargetTps = 10;
    DoublePlay play;
    Character marta(play.world(), TEXT("Marta"));
    marta.component->Say(TEXT("How much is stew?"));
    const int64 second = marta.component->Say(TEXT("And ale?"));
    REQUIRE(double_run_until([&] { return marta.listener->Failed.Num() == 1; }));
    CHECK(marta.listener->Failed[0].Id == second);
    CHECK(marta.listener->Failed[0].Status == ESottoStatus::Busy);
    marta.component->CancelAnswers();
    REQUIRE(double_run_until([&] { return marta.listener->Failed.Num() == 2; }));
    CHECK(marta.listener->Failed[1].Status == ESottoStatus::Cancelled);
}

TEST_CASE("the sheet of a character can change, and a conversation's name has a limit") {
    reset();
    DoublePlay play;
    Character marta(play.world(), TEXT("Marta"));
    marta.component->Say(TEXT("How much is stew?"));
    REQUIRE(double_run_until([&] { return marta.listener->HasEnded(); }));
    USottoSheet* dearer = sheet(marta.component, TEXT("Marta"));
    dearer->Prices = {TEXT("stew: 7 silver")};
    marta.component->SetSheet(dearer);
    CHECK(dearer->ToSystemMessage().EndsWith(TEXT("Prices:\n- stew: 7 silver")));
    marta.component->Say(TEXT("How much is stew?"));
    REQUIRE(double_run_until([&] { return marta.listener->Done.Num() == 2; }));
    CHECK(marta.listener->Done[1].Text.Contains(TEXT("7 silver")));
    dearer->Prose = TEXT("You are Marta.");
    CHECK(dearer->ToSystemMessage() == TEXT("You are Marta."));
    Character longest(play.world(), text(std::string(200, 'x')));
    longest.component->Say(TEXT("How much is stew?"));
    REQUIRE(double_run_until([&] { return longest.listener->HasEnded(); }));
    REQUIRE(longest.listener->Failed.Num() == 1);
    CHECK(longest.listener->Failed[0].Status == ESottoStatus::Argument);
}

TEST_CASE("the sample answers, and stats show it") {
    reset();
    DoublePlay play;
    play.world().SpawnActor<APlayerController>();
    ASottoInnkeeper* innkeeper = play.world().SpawnActor<ASottoInnkeeper>();
    innkeeper->Greet(TEXT("How much is stew?"));
    REQUIRE(double_run_until([&] { return DoubleGetStat(TEXT("STAT_SottoLive")) >= 1; }));
    REQUIRE(double_run_until([&] { return !innkeeper->GetCharacter()->IsAnswering(); }));
    CHECK(innkeeper->GetBubble().Contains(TEXT("4 copper")));
    CHECK(DoubleGetStat(TEXT("STAT_SottoModels")) > 1e6);
    CHECK(DoubleGetStat(TEXT("STAT_SottoDeliver")) >= 0);
    subsystem(play).SetMemoryBudget(64 << 20);
    CHECK(double_run_until([&] { return subsystem(play).GetFigures().MemoryBudget == 64 << 20; }));
}

TEST_CASE("a model that is missing in a build is logged with its path") {
    reset();
    GetMutableDefault<USottoSettings>()->Model = TEXT("Models/missing.gguf");
    DoublePlay play;
    TArray<FString> errors;
    REQUIRE(double_run_until([&] { return !(errors = DoubleTakeLog(ELogVerbosity::Error)).IsEmpty(); }));
    CHECK(errors[0].Contains(TEXT("is not loaded")));
    CHECK(errors[0].Contains(TEXT("Content/Models/missing.gguf")));
    CHECK(subsystem(play).IsRunning());
}

TEST_CASE("model files are found in Content, then in Saved") {
    reset();
    const std::filesystem::path saved = write("Saved/a.gguf", "x");
    CHECK(FSottoPaths::ResolveModel(TEXT("a.gguf")) == text(saved.string()));
    const std::filesystem::path content = write("Content/a.gguf", "x");
    CHECK(FSottoPaths::ResolveModel(TEXT("a.gguf")) == text(content.string()));
    CHECK(FSottoPaths::ResolveModel(TEXT("/abs/b.gguf")) == TEXT("/abs/b.gguf"));
    CHECK(FSottoPaths::ResolveModel(TEXT("no.gguf")).EndsWith(TEXT("Content/no.gguf")));
    CHECK(FSottoPaths::ResolveModel(TEXT("sotto/house")).IsEmpty());
}

TEST_CASE("the plugin's own automation tests pass") {
    reset();
    CHECK(FAutomationTestBase::DoubleAll().Num() >= 5);
    for (FAutomationTestBase* test : FAutomationTestBase::DoubleAll()) {
        CAPTURE(test->Name);
        CHECK(test->RunTest(FString()));
        CHECK(test->Errors == TArray<FString>());
    }
}
