// Characters that are destroyed while they answer, and actors that begin play twice.
#include "GameFramework/PlayerController.h"
#include "SottoAnswerAction.h"
#include "SottoInnkeeper.h"
#include "SottoSettings.h"
#include "fixture.hpp"

using namespace fixture;

namespace {

/** Counts the ends of a request. */
struct Ends {
    FSottoHandlers handlers() {
        FSottoHandlers made;
        made.Ended.BindLambda([this](const FSottoAnswer& answer) {
            ++count;
            last = answer;
        });
        return made;
    }
    int count = 0;
    FSottoAnswer last;
};

} // namespace

TEST_CASE("a node whose character is destroyed fails, and goes") {
    reset();
    GetMutableDefault<USottoSettings>()->TargetTps = 10;
    DoublePlay play;
    Character marta(play.world(), TEXT("Marta"));
    USottoAnswerAction* action =
        USottoAnswerAction::SayToCharacter(&play.world(), marta.component, TEXT("How much is stew?"));
    UTestListener* heard = NewObject<UTestListener>(&play.game());
    play.game().RegisterReferencedObject(heard);
    action->Partial.AddDynamic(heard, &UTestListener::HandlePinPartial);
    action->Done.AddDynamic(heard, &UTestListener::HandlePinDone);
    action->Failed.AddDynamic(heard, &UTestListener::HandlePinFailed);
    action->Activate();
    REQUIRE(double_run_until([&] { return heard->Partials != 0; }));
    marta.actor->Destroy();
    REQUIRE(heard->Failed.Num() == 1);
    CHECK(heard->Failed[0].Status == ESottoStatus::Cancelled);
    CHECK(heard->Failed[0].Error == TEXT("the character was destroyed"));
    CHECK(heard->Done.IsEmpty());
    CHECK(marta.listener->Failed.IsEmpty()); // the component's own events stay silent
    const TWeakObjectPtr<USottoAnswerAction> kept = action;
    CollectGarbage(RF_NoFlags);
    CHECK_FALSE(kept.IsValid()); // the game instance let go of the node
    CHECK(double_run_until([&] { return subsystem(play).GetFigures().Live == 0; }));
    CHECK(heard->Failed.Num() == 1);
}

TEST_CASE("a component that never began play ends its callers' requests after the garbage collection") {
    reset();
    GetMutableDefault<USottoSettings>()->TargetTps = 10;
    DoublePlay play;
    Ends ends;
    {
        AActor* actor = play.world().SpawnActor<AActor>();
        auto* component =
            NewObject<USottoCharacterComponent>(actor); // not registered: no BeginPlay, no EndPlay
        component->Sheet = sheet(component, TEXT("Marta"));
        CHECK(component->SayTo(TEXT("How much is stew?"), ends.handlers()) > 0);
        double_frame();
    }
    CollectGarbage(RF_NoFlags);
    CHECK(ends.count == 0); // no game code runs meanwhile
    double_frame();
    CHECK(ends.count == 1);
    CHECK(ends.last.Status == ESottoStatus::Cancelled);
}

TEST_CASE("a character that is asked again while it is destroyed") {
    reset();
    GetMutableDefault<USottoSettings>()->TargetTps = 10;
    DoublePlay play;
    Character marta(play.world(), TEXT("Marta"));
    Ends again;
    FSottoHandlers handlers;
    int ended = 0;
    handlers.Ended.BindLambda([&](const FSottoAnswer&) {
        ++ended;
        marta.component->SayTo(TEXT("And now?"), again.handlers());
    });
    marta.component->SayTo(TEXT("How much is stew?"), handlers);
    REQUIRE(double_run_until([&] { return marta.listener->Partials != 0; }));
    marta.component->DestroyComponent();
    CHECK(ended == 1);
    CollectGarbage(RF_NoFlags);
    double_frame();
    CHECK(again.count == 1);
}

TEST_CASE("an actor that is destroyed by its own event") {
    reset();
    DoublePlay play;
    Character marta(play.world(), TEXT("Marta"));
    Ends ends;
    marta.listener->Victim = marta.actor;
    marta.component->SayTo(TEXT("How much is stew?"), ends.handlers());
    REQUIRE(double_run_until([&] { return marta.listener->Partials != 0; }));
    CHECK(ends.count == 1);
    CHECK(ends.last.Status == ESottoStatus::Cancelled);
    CHECK(marta.listener->Sentences.IsEmpty());
    CollectGarbage(RF_NoFlags);
    CHECK(double_run_until([&] { return subsystem(play).GetFigures().Live == 0; }));
    CHECK(marta.listener->Partials == 1);
    CHECK_FALSE(marta.listener->HasEnded());
    CHECK(ends.count == 1);
}

TEST_CASE("the sample has a place in the world, and hears each part once after it has begun play twice") {
    reset();
    DoublePlay play;
    play.world().SpawnActor<APlayerController>();
    ASottoInnkeeper* innkeeper = play.world().SpawnActor<ASottoInnkeeper>();
    CHECK(innkeeper->SetActorLocation(FVector(4000, 0, 0)));
    CHECK(innkeeper->GetActorLocation().X == 4000);
    innkeeper->RouteEndPlay(EEndPlayReason::RemovedFromWorld); // its level is streamed out, and in again
    innkeeper->DispatchBeginPlay();
    UTestListener* heard = NewObject<UTestListener>(&play.game());
    play.game().RegisterReferencedObject(heard);
    heard->Listen(*innkeeper->GetCharacter());
    innkeeper->Greet(TEXT("How much is stew?"));
    REQUIRE(double_run_until([&] { return heard->HasEnded(); }));
    REQUIRE(heard->Done.Num() == 1);
    CHECK(innkeeper->GetBubble().Equals(heard->Done[0].Text));
}
