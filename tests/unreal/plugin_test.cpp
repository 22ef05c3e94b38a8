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
}

TEST_CASE("a node in no game logs why it executes no pin") {
    reset();
    DoublePlay play;
    USottoAnswerAction* asked = USottoAnswerAction::AskModel(nullptr, FSottoTurn());
    UTestListener* heard = listen(play, *asked);
    asked->Activate();
    USottoLoadModelAction* load = USottoLoadModelAction::LoadModel(nullptr, TEXT("none.gguf"));
    load->Activate();
    CHECK_FALSE(asked->IsActive());
    CHECK_FALSE(load->IsActive());
    CHECK_FALSE(heard->HasEnded());
    const TArray<FString> errors = DoubleTakeLog(ELogVerbosity::Error);
    REQUIRE(errors.Num() == 2);
    for (const FString& error : errors) {
        CHECK(
            error.EndsWith(TEXT("no pin is executed: invalid world context: it belongs to no running game"))
        );
    }
    USottoAnswerAction* cancelled = USottoAnswerAction::AskModel(&play.world(), FSottoTurn());
    cancelled->Activate();
    cancelled->Cancel(); // its end executes no pin either, but the game asked for that
    double_frame();
    CHECK(DoubleTakeLog(ELogVerbosity::Error).IsEmpty());
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
    CHECK(FSottoPaths::ResolveModel(TEXT("sotto/matting")).IsEmpty());
    CHECK_FALSE(FSottoPaths::ResolveModel(TEXT("Sotto/House")).IsEmpty()); // the library knows no such model
}

TEST_CASE("a character's own model is found as the project's is") {
    reset();
    const Scripted echo("{}");
    write("Content/Models/small.json", "{}");
    DoublePlay play;
    Character marta(play.world(), TEXT("Marta"));
    marta.component->Model = TEXT("Models/small.json");
    marta.component->Say(TEXT("Hello?"));
    REQUIRE(double_run_until([&] { return marta.listener->HasEnded(); }));
    CHECK(marta.listener->Done.Num() == 1);
    CHECK(subsystem(play).IsModelReady(TEXT("Models/small.json")));
    Character tobin(play.world(), TEXT("Tobin"));
    tobin.component->Model = TEXT("Models/none.json");
    tobin.component->Say(TEXT("Hello?"));
    REQUIRE(double_run_until([&] { return tobin.listener->HasEnded(); }));
    REQUIRE(tobin.listener->Failed.Num() == 1);
    CHECK(tobin.listener->Failed[0].Error.Contains(TEXT("Content/Models/none.json")));
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
