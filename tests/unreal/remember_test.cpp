// Characters that remember.
#include <cstdlib>

#include "SottoInnkeeper.h"
#include "stores.hpp"

using namespace fixture;

namespace {

/** A character that remembers. */
struct Rememberer : Character {
    explicit Rememberer(DoublePlay& play, const FString& name = TEXT("Marta"))
        : Character(play.world(), name) {
        component->bRemembers = true;
    }
};

} // namespace

TEST_CASE("a character remembers what was said, and recalls it in another session") {
    reset_stores();
    const Scripted echo("{}");
    {
        DoublePlay play;
        Rememberer marta(play);
        FSottoSheetLine visitor;
        visitor.Title = TEXT("Visitor");
        visitor.Text = TEXT("Ilse");
        marta.component->Sheet->Lines = {visitor};
        marta.component->Tell(TEXT("The cellar is locked\nafter dusk."));
        marta.component->Overhear(TEXT("The bridge has fallen."), TEXT("Odo"));
        answer(marta, TEXT("A ring was lost at the well."));
        answer(marta, TEXT("Tell of the cellar, please."));
        const std::string messages = read(play, TEXT("Marta"));
        CHECK(has(messages, "Facts:\\n- The cellar is locked after dusk."));
        CHECK_FALSE(has(messages, "Ilse said: A ring")); // the conversation has it
        const TArray<FSottoStoreEntry> kept = memories(play, TEXT("Marta"));
        REQUIRE(kept.Num() == 4);
        CHECK(kept[0].Id.StartsWith(TEXT("Marta/")));
        CHECK(kept[0].Metadata.Contains(TEXT("fact")));
        CHECK(kept[0].Importance == doctest::Approx(0.8));
        CHECK(kept[1].Value == TEXT("Odo said: The bridge has fallen."));
        CHECK(kept[2].Value.StartsWith(TEXT("Ilse said: A ring was lost at the well. You said: ")));
        CHECK(kept[2].Metadata.Contains(TEXT("said")));
        CHECK(DoubleTakeLog(ELogVerbosity::Warning).IsEmpty());
    }
    DoublePlay play;
    Rememberer marta(play);
    answer(marta, TEXT("Who lost a ring?"));
    const std::string messages = read(play, TEXT("Marta"));
    CHECK(has(messages, "Memories:\\n- Ilse said: A ring was lost at the well."));
    Rememberer tobin(play, TEXT("Tobin"));
    answer(tobin, TEXT("Who lost a ring?"));
    CHECK_FALSE(has(read(play, TEXT("Tobin")), "Ilse"));
    marta.component->Sheet->Prose = TEXT("You are Marta.");
    answer(marta, TEXT("Is the cellar locked?"));
    CHECK(has(read(play, TEXT("Marta")), "You are Marta.\\nFacts:\\n- The cellar is locked after dusk."));
}

TEST_CASE("the house model answers from a memory, which a model of llama.cpp embeds") {
    reset_stores();
    const char* encoder = std::getenv("SOTTO_UNREAL_ENCODER"); // 64 dimensions, random weights
    REQUIRE(encoder != nullptr);
    GetMutableDefault<USottoSettings>()->EmbeddingModel = FString(encoder);
    GetMutableDefault<USottoSettings>()->EmbeddingDim = 64;
    {
        DoublePlay play;
        Rememberer marta(play);
        marta.component->Tell(TEXT("The cellar is locked after dusk."));
        REQUIRE(double_run_until([&] { return subsystem(play).IsModelReady(FString(encoder)); }));
        REQUIRE(memories(play, TEXT("Marta")).Num() == 1);
    }
    DoublePlay play;
    Rememberer marta(play);
    answer(marta, TEXT("When is the cellar locked?"));
    CHECK(has(read(play, TEXT("Marta")), "Facts:\\n- The cellar is locked after dusk."));
    CHECK(marta.listener->Done[0].Text.Contains(TEXT("dusk")));
    CHECK(memories(play, TEXT("Marta")).Num() == 2);
    CHECK(DoubleTakeLog(ELogVerbosity::Warning) == TArray<FString>());
}

TEST_CASE("memories in a prompt are limited in number and in tokens") {
    reset_stores();
    const Scripted echo("{}");
    DoublePlay play;
    Rememberer marta(play);
    for (const char* fact :
         {"The red ring is gold.", "The blue ring is silver.", "The ring of Odo is iron."}) {
        marta.component->Tell(FString(fact));
    }
    const auto recalled = [&] {
        answer(marta, TEXT("Which ring?"));
        const std::string messages = read(play, TEXT("Marta"));
        const std::string system = messages.substr(0, messages.find("\"user\""));
        int count = 0;
        for (const char* metal : {"gold", "silver", "iron"}) {
            count += has(system, metal) ? 1 : 0;
        }
        return count;
    };
    CHECK(recalled() == 3);
    marta.component->Recalled = 2;
    CHECK(recalled() == 2);
    marta.component->Recalled = 8;
    marta.component->MemoryTokens = 11; // the scripted tokenizer counts words: two facts of five or six
    CHECK(recalled() <= 2);
    marta.component->MemoryTokens = 4;
    CHECK(recalled() == 0);
    marta.component->Recalled = 0;
    CHECK(recalled() == 0);
}

TEST_CASE("a character answers without its memories if these fail, and says why") {
    reset_stores();
    const Scripted echo("{}");
    {
        DoublePlay play;
        Rememberer marta(play);
        GetMutableDefault<USottoSettings>()->EmbeddingModel = FString();
        answer(marta, TEXT("Hello!"));
        marta.component->Tell(TEXT("Nothing"));
        const TArray<FString> errors = DoubleTakeLog(ELogVerbosity::Error);
        REQUIRE(errors.Num() == 2);
        CHECK(
            errors[0].EndsWith(TEXT("'Marta' cannot remember: set Embedding Model in the project settings"))
        );
        GetMutableDefault<USottoSettings>()->EmbeddingModel = TEXT("none.json");
        DoubleTakeLog(ELogVerbosity::Warning);
        answer(Rememberer(play, TEXT("Tobin")), TEXT("Hello!"));
        TArray<FString> warnings = DoubleTakeLog(ELogVerbosity::Warning);
        REQUIRE(warnings.Num() >= 1);
        CHECK(warnings[0].Contains(TEXT("'Tobin' answers without its memories: ")));
        CHECK(warnings[0].Contains(TEXT("none.json")));
        Character silent(play.world(), TEXT("Odo"));
        silent.component->Overhear(TEXT("x"), TEXT("y"));
        CHECK(DoubleTakeLog(ELogVerbosity::Error)[0].EndsWith(TEXT("set bRemembers")));
    }
    GetMutableDefault<USottoSettings>()->EmbeddingModel = TEXT("embedder.json");
    GetMutableDefault<USottoSettings>()->EmbeddingDim = 3; // not the model's
    DoublePlay play;
    answer(Rememberer(play), TEXT("Hello!"));
    const TArray<FString> warnings = DoubleTakeLog(ELogVerbosity::Warning);
    REQUIRE(warnings.Num() >= 1);
    CHECK(warnings[0].Contains(TEXT("answers without its memories")));
}

TEST_CASE("of two game instances with one store, the second answers without its memories") {
    reset_stores();
    const Scripted echo("{}");
    DoublePlay one;
    DoublePlay two;
    answer(Rememberer(one), TEXT("Hello!"));
    CHECK(memories(one, TEXT("Marta")).Num() == 1);
    CHECK(DoubleTakeLog(ELogVerbosity::Warning) == TArray<FString>());
    answer(Rememberer(two), TEXT("Hello!"));
    const TArray<FString> warnings = DoubleTakeLog(ELogVerbosity::Warning);
    REQUIRE(warnings.Num() == 1); // and nothing is remembered that was not recalled
    CHECK(warnings[0].Contains(TEXT("open")));
    one.stop();
    two.stop();
    DoublePlay three; // the store was closed
    CHECK(memories(three, TEXT("Marta")).Num() == 1);
}

TEST_CASE("a character that recalls is cancelled, destroyed and stopped") {
    reset_stores();
    const Scripted echo("{}");
    write(
        "Content/embedder.json",
        R"({"response": {"data": [{"embedding": [1, 2]}]}, "tokens": [], "load_ms": 200})"
    );
    const int before = threads();
    for (int way = 0; way < 4; ++way) {
        DoublePlay play;
        Rememberer marta(play);
        REQUIRE(double_run_until([&] { return subsystem(play).IsModelReady(FString()); }));
        marta.component->Say(TEXT("Hello?"));
        double_frame();
        CHECK(marta.component->IsAnswering());
        if (way == 0) {
            marta.component->CancelAnswers();
            double_frame();
            REQUIRE(marta.listener->Failed.Num() == 1);
            CHECK(marta.listener->Failed[0].Status == ESottoStatus::Cancelled);
            double_run_until([&] { return subsystem(play).IsModelReady(TEXT("embedder.json")); });
            double_frame();
            CHECK(marta.listener->Done.IsEmpty());
        } else if (way == 1) {
            marta.component->DestroyComponent();
            CollectGarbage(RF_NoFlags);
            double_run_until([&] { return subsystem(play).IsModelReady(TEXT("embedder.json")); });
            double_frame();
        } else if (way == 2) {
            subsystem(play).GetHost().Stop(TEXT("stopped"), true);
            double_frame();
            CHECK(marta.listener->Failed.Num() == 1);
        }
        play.stop();
    }
    // Abandoned loads end, for LeakSanitizer.
    CHECK(double_run_until([&] { return threads() <= before; }, 10));
}

TEST_CASE("the sample remembers, with an embedding model in the settings") {
    reset_stores();
    const Scripted echo("{}");
    DoublePlay play;
    ASottoInnkeeper* innkeeper = play.world().SpawnActor<ASottoInnkeeper>();
    innkeeper->Greet(TEXT("How much is stew?"));
    REQUIRE(double_run_until([&] { return !innkeeper->GetCharacter()->IsAnswering(); }));
    const TArray<FSottoStoreEntry> kept = memories(play, TEXT("Marta Brightwater"));
    REQUIRE(kept.Num() == 1);
    CHECK(kept[0].Value.StartsWith(TEXT("The visitor said: How much is stew? You said: ")));
}

TEST_CASE("the last exchange before the game ends is kept") {
    reset_stores();
    const Scripted echo("{}");
    {
        DoublePlay play;
        Rememberer marta(play);
        answer(marta, TEXT("Remember the amber."));
    }
    DoublePlay play;
    const TArray<FSottoStoreEntry> kept = memories(play, TEXT("Marta"));
    REQUIRE(kept.Num() == 1);
    CHECK(kept[0].Value.Contains(TEXT("amber")));
}
