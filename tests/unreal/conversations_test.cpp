// Conversations: their names, their system message, and what a saved game keeps of them.
#include "Engine/Level.h"
#include "SottoSaveGame.h"
#include "fixture.hpp"

using namespace fixture;

namespace {

/** A save-game object that lives as long as the test. */
class Save {
public:
    Save() : object_(NewObject<USottoSaveGame>()) { object_->AddToRoot(); }
    ~Save() { object_->RemoveFromRoot(); }
    Save(const Save&) = delete;
    Save& operator=(const Save&) = delete;

    USottoSaveGame* operator->() const { return object_; }
    USottoSaveGame* get() const { return object_; }
    /** The messages of a conversation, or none. */
    std::string messages(const FString& name) const {
        for (const FSottoConversation& one : object_->Conversations) {
            if (one.Name.Equals(name)) {
                return utf8(one.Messages);
            }
        }
        return {};
    }

private:
    USottoSaveGame* object_;
};

UTestListener* store(DoublePlay& play, const Save& save) {
    UTestListener* heard = NewObject<UTestListener>(&play.game());
    play.game().RegisterReferencedObject(heard);
    subsystem(play).OnConversationsStored.Clear();
    subsystem(play).OnConversationsStored.AddDynamic(heard, &UTestListener::HandleStored);
    subsystem(play).StoreConversations(save.get());
    CHECK(double_run_until([&] { return heard->bStored; }));
    CHECK(heard->Missing.IsEmpty());
    return heard;
}

int count(const std::string& text, const std::string& part) {
    int found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++found;
    }
    return found;
}

} // namespace

TEST_CASE("conversations are stored in a save game, and go on in another session") {
    reset();
    const Scripted echo("{}");
    const Save save;
    {
        DoublePlay play;
        Character marta(play.world(), TEXT("Marta"));
        answer(marta, text("A \"quoted\" line\nand 👋"));
        UTestListener* heard = NewObject<UTestListener>(&play.game());
        play.game().RegisterReferencedObject(heard);
        subsystem(play).OnConversationsStored.AddDynamic(heard, &UTestListener::HandleStored);
        subsystem(play).StoreConversations(save.get());
        subsystem(play).StoreConversations(save.get()); // refused: the first is not done
        CHECK(DoubleTakeLog(ELogVerbosity::Error).Num() == 1);
        REQUIRE(double_run_until([&] { return heard->bStored; }));
        CHECK(heard->Missing.IsEmpty());
        subsystem(play).StoreConversations(nullptr);
        subsystem(play).RestoreConversations(nullptr);
        CHECK(DoubleTakeLog(ELogVerbosity::Error).Num() == 2);
    }
    REQUIRE(save->Conversations.Num() == 1);
    CHECK(has(save.messages(TEXT("Marta")), "👋"));
    CHECK(has(save.messages(TEXT("Marta")), "assistant"));
    DoublePlay play;
    subsystem(play).RestoreConversations(save.get());
    Character marta(play.world(), TEXT("Marta"));
    answer(marta, TEXT("Second line"));
    const std::string messages = read(play, TEXT("Marta"));
    CHECK(has(messages, "👋"));
    CHECK(has(messages, "Second line"));
    subsystem(play).CloseConversation(TEXT("Marta"));
    CHECK(subsystem(play).GetHost().OpenConversations().IsEmpty());
}

TEST_CASE("a restored conversation that nobody continued is stored again, unchanged") {
    reset();
    const Scripted echo("{}");
    const Save first;
    {
        DoublePlay play;
        answer(Character(play.world(), TEXT("Marta")), TEXT("One"));
        answer(Character(play.world(), TEXT("Tobin")), TEXT("Two"));
        store(play, first);
    }
    REQUIRE(first->Conversations.Num() == 2);
    const std::string kept = first.messages(TEXT("Tobin"));
    DoublePlay play;
    subsystem(play).RestoreConversations(first.get());
    const Save untouched;
    store(play, untouched);
    REQUIRE(untouched->Conversations.Num() == 2);
    CHECK(untouched.messages(TEXT("Marta")) == first.messages(TEXT("Marta")));
    CHECK(untouched.messages(TEXT("Tobin")) == kept);
    answer(Character(play.world(), TEXT("Marta")), TEXT("Three"));
    const Save second;
    store(play, second);
    REQUIRE(second->Conversations.Num() == 2);
    CHECK(second.messages(TEXT("Tobin")) == kept);
    CHECK(has(second.messages(TEXT("Marta")), "Three"));
    subsystem(play).CloseConversation(TEXT("Tobin"));
    subsystem(play).CloseConversation(TEXT("Marta"));
    const Save none;
    store(play, none);
    CHECK(none->Conversations.IsEmpty());
}

TEST_CASE("a conversation that is saved and loaded again and again has one system message, the newest") {
    reset();
    const Scripted echo("{}");
    const Save save;
    const char* prices[] = {"stew: 4 copper", "stew: 5 copper", "stew: 6 copper", "stew: 7 copper"};
    for (const char* price : prices) {
        DoublePlay play;
        subsystem(play).RestoreConversations(save.get());
        Character marta(play.world(), TEXT("Marta"));
        marta.component->Sheet->Prices = {FString(price)};
        answer(marta, TEXT("How much is stew?"));
        store(play, save);
    }
    const std::string messages = save.messages(TEXT("Marta"));
    CHECK(count(messages, "\"system\"") == 1);
    CHECK(count(messages, "\"user\"") == 4);
    CHECK(messages.find("\"system\"") < messages.find("\"user\""));
    CHECK(has(messages, "stew: 7 copper"));
    CHECK_FALSE(has(messages, "stew: 4 copper"));
    CHECK_FALSE(has(messages, "stew: 6 copper"));
}

TEST_CASE("a character takes back its last turns") {
    reset();
    const Scripted echo(R"({"open_ms": 50})"); // so that an answer can be cancelled
    DoublePlay play;
    Character marta(play.world(), TEXT("Marta"));
    for (const TCHAR* line : {TEXT("One"), TEXT("Two"), TEXT("Three")}) {
        answer(marta, line);
    }
    marta.component->Rewind();
    CHECK_FALSE(has(read(play, TEXT("Marta")), "Three"));
    marta.component->Say(TEXT("Four"));
    marta.component->Rewind(2); // cancels the answer
    const std::string messages = read(play, TEXT("Marta"));
    CHECK(count(messages, "\"user\"") == 0);
    CHECK(count(messages, "\"system\"") == 1);
    marta.component->Rewind(1); // no turn is left: no effect
    CHECK(read(play, TEXT("Marta")) == messages);
    CHECK_FALSE(subsystem(play).GetHost().RewindConversation(TEXT("Nobody")));
    CHECK_FALSE(subsystem(play).GetHost().RewindConversation(TEXT("Marta"), 0));
    CHECK(DoubleTakeLog(ELogVerbosity::Error).Num() == 1);
    REQUIRE(double_run_until([&] { return marta.listener->Failed.Num() == 1; }));
    CHECK(marta.listener->Failed[0].Status == ESottoStatus::Cancelled);
    const int before = marta.listener->Done.Num();
    marta.component->Say(TEXT("Five"));
    REQUIRE(double_run_until([&] { return marta.listener->Done.Num() > before; }));
    CHECK(has(read(play, TEXT("Marta")), "Five"));
}

TEST_CASE("a turn's system message replaces the conversation's, and an empty one does not") {
    reset();
    const Scripted echo("{}");
    DoublePlay play;
    Character marta(play.world(), TEXT("Marta"));
    answer(marta, TEXT("One"));
    CHECK(has(read(play, TEXT("Marta")), "stew: 4 copper"));
    marta.component->Sheet->Prices = {TEXT("stew: 5 copper")}; // in place, without SetSheet
    answer(marta, TEXT("Two"));
    CHECK(has(read(play, TEXT("Marta")), "stew: 5 copper"));
    marta.component->Sheet = nullptr;
    answer(marta, TEXT("Three"));
    const std::string messages = read(play, TEXT("Marta"));
    CHECK(has(messages, "stew: 5 copper"));
    CHECK(count(messages, "\"system\"") == 1);
    marta.component->SetSheet(nullptr);
    CHECK_FALSE(has(read(play, TEXT("Marta")), "\"system\""));
}

TEST_CASE("characters of the same name in two levels have a conversation each") {
    reset();
    DoublePlay play;
    FActorSpawnParameters parameters;
    parameters.Name = FName(TEXT("BP_Guard_C_1"));
    AActor* upstairs = play.world().SpawnActor<AActor>(parameters);
    parameters.OverrideLevel = play.world().DoubleAddLevel(TEXT("/Game/Maps/UEDPIE_0_Cellar"));
    AActor* downstairs = play.world().SpawnActor<AActor>(parameters);
    USottoCharacterComponent* guards[] = {
        component_of(upstairs, TEXT("Marta")), component_of(downstairs, TEXT("Marta"))
    };
    guards[1]->Sheet->Prices = {TEXT("stew: 7 silver")};
    CHECK(guards[0]->GetConversation() == TEXT("/Game/Maps/Tavern.BP_Guard_C_1"));
    CHECK(guards[1]->GetConversation() == TEXT("/Game/Maps/Cellar.BP_Guard_C_1"));
    const char* expected[] = {"4 copper", "7 silver"};
    for (int i = 0; i < 2; ++i) {
        UTestListener* heard = NewObject<UTestListener>(&play.game());
        play.game().RegisterReferencedObject(heard);
        heard->Listen(*guards[i]);
        guards[i]->Say(TEXT("How much is stew?"));
        REQUIRE(double_run_until([&] { return heard->HasEnded(); }));
        CHECK(utf8(heard->Text).find(expected[i]) != std::string::npos);
    }
    CHECK(subsystem(play).GetHost().OpenConversations().Num() == 2);
    // The cell that World Partition generates for an actor changes with the map; the map's own name stays.
    parameters.Name = FName(TEXT("BP_Guard_C_UAID_04421A9713A8_1"));
    parameters.OverrideLevel =
        play.world().DoubleAddLevel(TEXT("/Game/Maps/UEDPIE_0_Tavern/_Generated_/1AB"), true);
    const USottoCharacterComponent* outside =
        component_of(play.world().SpawnActor<AActor>(parameters), TEXT("Odo"));
    CHECK(outside->GetConversation() == TEXT("/Game/Maps/Tavern.BP_Guard_C_UAID_04421A9713A8_1"));
    parameters.OverrideLevel = play.world().DoubleAddLevel(text("/Game/" + std::string(200, 'x')));
    const USottoCharacterComponent* deep =
        component_of(play.world().SpawnActor<AActor>(parameters), TEXT("Ilse"));
    CHECK(utf8(deep->GetConversation()).size() == 128);
    CHECK(deep->GetConversation().EndsWith(TEXT("x.BP_Guard_C_UAID_04421A9713A8_1")));
}

TEST_CASE("conversations whose names differ in case are two") {
    reset();
    const Scripted echo("{}");
    const Save save;
    {
        DoublePlay play;
        answer(Character(play.world(), TEXT("Bob")), TEXT("One"));
        answer(Character(play.world(), TEXT("bob")), TEXT("Two"));
        store(play, save);
    }
    REQUIRE(save->Conversations.Num() == 2);
    CHECK(has(save.messages(TEXT("Bob")), "One"));
    CHECK(has(save.messages(TEXT("bob")), "Two"));
    DoublePlay play;
    subsystem(play).RestoreConversations(save.get());
    answer(Character(play.world(), TEXT("Bob")), TEXT("Three"));
    answer(Character(play.world(), TEXT("bob")), TEXT("Four"));
    CHECK(has(read(play, TEXT("Bob")), "One"));
    CHECK_FALSE(has(read(play, TEXT("Bob")), "Two"));
    CHECK(has(read(play, TEXT("bob")), "Two"));
}
