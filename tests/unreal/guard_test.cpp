// Guardrails: guards of a game's own, and those of the engine.
#include "SottoAnswerAction.h"
#include "SottoGuard.h"
#include "SottoLibrary.h"
#include "SottoPaths.h"
#include "SottoSettings.h"
#include "fixture.hpp"

using namespace fixture;

namespace {

const FString kConfig = TEXT(R"({
    "input": [
        {"type": "phrases", "phrases": ["swamp rat"], "category": "insult"},
        {"type": "regex", "name": "numbers", "patterns": ["\\d{4,}"], "action": "rewrite", "mask": "#"}
    ],
    "output": [{"type": "phrases", "phrases": ["trapdoor"], "reason": "no spoilers"}]
})");

/** A guard that no garbage collection takes. */
USottoGuard* guard() {
    FString error;
    USottoGuard* made = USottoGuard::CreateGuard(kConfig, error);
    CHECK(error.IsEmpty());
    REQUIRE(made != nullptr);
    made->AddToRoot();
    return made;
}

FString refused(const FString& config) {
    FString error;
    CHECK(USottoGuard::CreateGuard(config, error) == nullptr);
    return error;
}

} // namespace

TEST_CASE("a guard checks what players write and what models answer") {
    reset();
    USottoGuard* checks = guard();
    FSottoVerdict verdict = checks->Check(ESottoGuardStage::Input, TEXT("You $w4mp  r.a.t!"));
    CHECK_FALSE(verdict.bAllowed);
    CHECK(verdict.Action == ESottoGuardAction::Block);
    CHECK(verdict.Checker == TEXT("keyword"));
    CHECK(verdict.Category == TEXT("insult"));
    CHECK(verdict.Reason == TEXT("insult detected"));
    CHECK(verdict.Score > 0);
    CHECK(verdict.Error.IsEmpty());
    verdict = checks->Check(ESottoGuardStage::Input, TEXT("call 12345"));
    CHECK(verdict.bAllowed);
    CHECK(verdict.Action == ESottoGuardAction::Rewrite);
    CHECK(verdict.Rewritten == TEXT("call #####"));
    verdict = checks->Check(ESottoGuardStage::Output, TEXT("A swamp rat."));
    CHECK(verdict.bAllowed);
    CHECK(verdict.Action == ESottoGuardAction::Allow);
    CHECK(verdict.Score == -1);
    CHECK(checks->Check(ESottoGuardStage::ImagePrompt, FString()).Checker.IsEmpty());
    checks->RemoveFromRoot();
}

TEST_CASE("a stream holds back what may become a finding") {
    reset();
    USottoGuard* checks = guard();
    USottoGuardStream* stream = checks->OpenStream(ESottoGuardStage::Output);
    REQUIRE(stream != nullptr);
    stream->AddToRoot();
    FString shown = stream->Feed(TEXT("Behind the tra"));
    CHECK(shown.StartsWith(TEXT("Behind the")));
    CHECK_FALSE(shown.Contains(TEXT("tra")));
    CHECK_FALSE(stream->IsBlocked());
    shown += stream->Feed(TEXT("pdoor lies gold."));
    shown += stream->Finish();
    CHECK(stream->IsBlocked());
    CHECK(shown.StartsWith(TEXT("Behind the")));
    CHECK_FALSE(shown.Contains(TEXT("gold")));
    CHECK(stream->GetVerdict().Reason == TEXT("no spoilers"));
    CHECK(stream->Feed(TEXT("more")).IsEmpty()); // already finished
    USottoGuardStream* other = checks->OpenStream(ESottoGuardStage::Output);
    checks->RemoveFromRoot();
    other->AddToRoot();
    CollectGarbage(RF_NoFlags); // a stream continues without its guard
    FString heard = other->Feed(TEXT("Good evening."));
    heard += other->Finish();
    CHECK(heard == TEXT("Good evening."));
    CHECK_FALSE(other->IsBlocked());
    stream->RemoveFromRoot();
    other->RemoveFromRoot();
    CollectGarbage(RF_NoFlags);
}

TEST_CASE("a configuration that is invalid is refused with its path, and read from a file") {
    reset();
    CHECK(refused(TEXT("{\"input\": [{\"type\": \"fraises\"}]}")).Contains(TEXT("input[0].type")));
    CHECK(refused(TEXT("{")).Contains(TEXT("JSON")));
    CHECK_FALSE(refused(FString()).IsEmpty());
    CHECK(refused(TEXT("none.json")).Contains(TEXT("Content/none.json")));
    write("Content/Guardrails.json", utf8(kConfig));
    FString error;
    USottoGuard* checks = USottoGuard::CreateGuard(TEXT("Guardrails.json"), error);
    REQUIRE(checks != nullptr);
    CHECK_FALSE(checks->Check(ESottoGuardStage::Output, TEXT("trapdoor")).bAllowed);
}

TEST_CASE("a guard allows nothing once the library is gone, or without a configuration") {
    reset();
    USottoGuard* checks = guard();
    USottoGuardStream* stream = checks->OpenStream(ESottoGuardStage::Output);
    stream->AddToRoot();
    FSottoLibrary::Get().Unload();
    FSottoVerdict verdict = checks->Check(ESottoGuardStage::Input, TEXT("Good evening."));
    CHECK_FALSE(verdict.bAllowed);
    CHECK(verdict.Error.Contains(TEXT("create another one")));
    CHECK(stream->Feed(TEXT("Good evening.")).IsEmpty());
    CHECK(stream->IsBlocked());
    CHECK_FALSE(stream->GetVerdict().bAllowed);
    CHECK(refused(kConfig) == TEXT("the library is not loaded"));
    REQUIRE(FSottoLibrary::Get().Load());
    CHECK_FALSE(checks->Check(ESottoGuardStage::Input, TEXT("Good evening.")).bAllowed); // of the old library
    CHECK(checks->OpenStream(ESottoGuardStage::Output) == nullptr);
    USottoGuard* empty = NewObject<USottoGuard>(); // as a Blueprint that constructs the class
    CHECK_FALSE(empty->Check(ESottoGuardStage::Input, FString()).bAllowed);
    CHECK(empty->OpenStream(ESottoGuardStage::Input) == nullptr);
    USottoGuardStream* none = NewObject<USottoGuardStream>();
    CHECK(none->Feed(TEXT("x")).IsEmpty());
    CHECK(none->Finish().IsEmpty());
    CHECK_FALSE(none->GetVerdict().bAllowed);
    CHECK(DoubleTakeLog(ELogVerbosity::Error).Num() == 2);
    checks->RemoveFromRoot();
    stream->RemoveFromRoot();
    CollectGarbage(RF_NoFlags);
}

TEST_CASE("with guardrails in the settings, blocked lines fail and blocked answers end before the finding") {
    reset();
    const Scripted speaks(R"({"tokens": ["Behind ", "the ", "trap", "door ", "lies ", "gold."]})");
    GetMutableDefault<USottoSettings>()->Guardrails = kConfig;
    DoublePlay play;
    Character marta(play.world(), TEXT("Marta"));
    marta.component->Say(TEXT("You swamp rat!"));
    REQUIRE(double_run_until([&] { return marta.listener->HasEnded(); }));
    REQUIRE(marta.listener->Failed.Num() == 1);
    CHECK(marta.listener->Failed[0].Status == ESottoStatus::Blocked);
    CHECK(marta.listener->Failed[0].Error.Contains(TEXT("blocked by guardrail 'keyword': insult detected")));
    CHECK(marta.listener->Text.IsEmpty());
    marta.component->Say(TEXT("Good evening. My number is 123456."));
    REQUIRE(double_run_until([&] { return marta.listener->Done.Num() == 1; }));
    const FSottoAnswer& answer = marta.listener->Done[0];
    CHECK(answer.Finish == ESottoFinish::ContentFilter);
    CHECK(answer.Status == ESottoStatus::Ok);
    CHECK(answer.Text.StartsWith(TEXT("Behind the")));
    CHECK_FALSE(answer.Text.Contains(TEXT("trap")));
    CHECK(answer.Text == marta.listener->Text);
}

TEST_CASE("guardrails of the settings may be a file, and invalid ones turn the plugin off") {
    reset();
    const Scripted speaks(R"({"tokens": ["Good ", "evening."]})");
    write("Saved/Rules.json", utf8(kConfig));
    GetMutableDefault<USottoSettings>()->Guardrails = TEXT("Rules.json");
    {
        DoublePlay play;
        Character marta(play.world(), TEXT("Marta"));
        marta.component->Say(TEXT("You swamp rat!"));
        REQUIRE(double_run_until([&] { return marta.listener->HasEnded(); }));
        CHECK(marta.listener->Failed.Num() == 1);
        marta.component->Say(TEXT("Hello!"));
        REQUIRE(double_run_until([&] { return marta.listener->Done.Num() == 1; }));
        CHECK(marta.listener->Done[0].Finish == ESottoFinish::Stop);
    }
    for (const char* bad : {"{\"output\": 7}", "none.json"}) {
        GetMutableDefault<USottoSettings>()->Guardrails = FString(bad);
        DoublePlay play;
        CHECK_FALSE(subsystem(play).IsRunning());
        CHECK(subsystem(play).GetInertReason().StartsWith(TEXT("guardrails of the settings: ")));
        Character marta(play.world(), TEXT("Marta"));
        marta.component->Say(TEXT("Hello?"));
        double_frame();
        REQUIRE(marta.listener->Failed.Num() == 1);
        CHECK(marta.listener->Failed[0].Status == ESottoStatus::State);
        CHECK(DoubleTakeLog(ELogVerbosity::Error).Num() == 1);
    }
}
