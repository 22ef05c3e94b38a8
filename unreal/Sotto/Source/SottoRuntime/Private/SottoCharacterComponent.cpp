#include "SottoCharacterComponent.h"

#include "Async/Async.h"
#include "Core/Names.h"
#include "Core/Priority.h"
#include "Engine/Level.h"
#include "Engine/World.h"
#include "GameFramework/Actor.h"
#include "GameFramework/PlayerController.h"
#include "SottoConvert.h"
#include "SottoLog.h"
#include "SottoRemembering.h"
#include "SottoSettings.h"
#include "SottoSheet.h"
#include "SottoSubsystem.h"
#include "UObject/Package.h"

/** Returns the package of the level that an actor was placed in, without the prefix of play in the editor. */
static FString SottoLevelOf(const AActor& Actor)
{
    const ULevel* Level = Actor.GetLevel();
    if (Level == nullptr)
    {
        return FString();
    }
    // The package of a World Partition cell has a generated name, which changes when the map is edited.
    const UWorld* World = Level->IsWorldPartitionRuntimeCell() ? Actor.GetWorld() : nullptr;
    const UPackage* Package = World != nullptr ? World->GetPackage() : Level->GetPackage();
    return UWorld::RemovePIEPrefix(Package->GetName());
}

/** Ends requests whose character is gone. */
static void SottoEndCancelled(const TMap<int64, FSottoHandlers>& Requests)
{
    for (const TPair<int64, FSottoHandlers>& Request : Requests)
    {
        FSottoAnswer Cancelled;
        Cancelled.Id = Request.Key;
        Cancelled.Status = ESottoStatus::Cancelled;
        Cancelled.Error = TEXT("the character was destroyed");
        Request.Value.Ended.ExecuteIfBound(Cancelled);
    }
}

USottoCharacterComponent::USottoCharacterComponent()
{
    PrimaryComponentTick.bCanEverTick = false;
}

FString USottoCharacterComponent::GetConversation() const
{
    if (!Conversation.IsEmpty())
    {
        return Conversation;
    }
    if (GetOwner() == nullptr)
    {
        return GetName();
    }
    const FString Level = SottoLevelOf(*GetOwner());
    const FString Whole = Level.IsEmpty() ? GetOwner()->GetName() : Level + TEXT(".") + GetOwner()->GetName();
    return SottoToString(SottoCore::FitName(SottoToUtf8(Whole)));
}

int64 USottoCharacterComponent::Say(const FString& Text)
{
    return SayTo(Text, FSottoHandlers());
}

int64 USottoCharacterComponent::SayTo(const FString& Text, const FSottoHandlers& Handlers)
{
    USottoSubsystem* Engine = IsInGameThread() ? USottoSubsystem::Find(this) : nullptr;
    if (Engine == nullptr)
    {
        UE_LOG(
            LogSotto,
            Error,
            TEXT("'%s' does not answer: %s"),
            *GetConversation(),
            IsInGameThread() ? TEXT("it is in no running game") : TEXT("Say was called off the game thread")
        );
        return 0;
    }
    FSottoTurn Turn;
    Turn.Text = Text;
    Turn.Conversation = GetConversation();
    Turn.System = IsValid(Sheet) ? Sheet->ToSystemMessage() : FString();
    Turn.Model = Model;
    Turn.MaxTokens = MaxTokens;
    Turn.Temperature = Temperature;
    Turn.TargetTps = TargetTps;
    Turn.Priority = ChoosePriority();
    FSottoHandlers Own;
    Own.Partial = FSottoTextDelegate::CreateUObject(this, &USottoCharacterComponent::HandlePartial);
    Own.Sentence = FSottoTextDelegate::CreateUObject(this, &USottoCharacterComponent::HandleSentence);
    Own.Ended = FSottoAnswerDelegate::CreateUObject(this, &USottoCharacterComponent::HandleEnded);
    Subsystem = Engine;
    const int64 Request = bRemembers ? SayRemembering(Turn, Own) : Engine->Say(Turn, Own);
    Live.Add(Request, Handlers);
    return Request;
}

/** Returns the name under which a character's memories are kept. */
static FString SottoMemoryName(const USottoCharacterComponent& Character)
{
    const bool bNamed = IsValid(Character.Sheet) && !Character.Sheet->Name.IsEmpty();
    return !Character.MemoryName.IsEmpty() ? Character.MemoryName
           : bNamed                        ? Character.Sheet->Name
                                           : Character.GetConversation();
}

FSottoRemembering* USottoCharacterComponent::Remembering()
{
    USottoSubsystem* Engine = IsInGameThread() ? USottoSubsystem::Find(this) : nullptr;
    const TCHAR* Problem = !bRemembers ? TEXT("set bRemembers")
                           : Engine == nullptr
                               ? TEXT("it is in no running game, or the call is off the game thread")
                           : GetDefault<USottoSettings>()->EmbeddingModel.IsEmpty()
                               ? TEXT("set Embedding Model in the project settings")
                               : nullptr;
    if (Problem != nullptr)
    {
        UE_LOG(LogSotto, Error, TEXT("'%s' cannot remember: %s"), *GetConversation(), Problem);
        return nullptr;
    }
    const FString Kept = SottoMemoryName(*this);
    if (Memory == nullptr || !Memory->Name().Equals(Kept) || Subsystem.Get() != Engine)
    {
        Subsystem = Engine;
        Memory = std::make_shared<FSottoRemembering>(*Engine, Kept);
    }
    return Memory.get();
}

int64 USottoCharacterComponent::SayRemembering(const FSottoTurn& Turn, const FSottoHandlers& Handlers)
{
    FSottoEngineHost& Host = Subsystem->GetHost();
    if (Remembering() == nullptr)
    {
        return Host.Say(Turn, Handlers);
    }
    FSottoRecall Question;
    Question.Text = Turn.Text;
    Question.Model = Turn.Model;
    Question.Sheet = Sheet.Get();
    Question.Most = Recalled;
    Question.Tokens = MemoryTokens;
    return Host.SayPrepared(
        Turn,
        Handlers,
        FSottoPrepareDelegate::CreateWeakLambda(
            this, [Kept = Memory, Question](int64 Request) { Kept->Recall(Request, Question); }
        )
    );
}

void USottoCharacterComponent::Tell(const FString& Fact, float Importance)
{
    if (FSottoRemembering* Kept = Remembering())
    {
        Kept->Tell(Fact, Importance);
    }
}

void USottoCharacterComponent::Overhear(const FString& Text, const FString& By)
{
    if (FSottoRemembering* Kept = Remembering())
    {
        Kept->Overhear(Text, By);
    }
}

void USottoCharacterComponent::HandlePartial(int64 Request, const FString& Text)
{
    OnPartial.Broadcast(Request, Text);
    if (const FSottoHandlers* Handlers = Live.Find(Request))
    {
        const FSottoTextDelegate Partial = Handlers->Partial; // the handler may change the map
        Partial.ExecuteIfBound(Request, Text);
    }
}

void USottoCharacterComponent::HandleSentence(int64 Request, const FString& Text)
{
    OnSentence.Broadcast(Request, Text);
    if (const FSottoHandlers* Handlers = Live.Find(Request))
    {
        const FSottoTextDelegate Sentence = Handlers->Sentence; // the handler may change the map
        Sentence.ExecuteIfBound(Request, Text);
    }
}

void USottoCharacterComponent::HandleEnded(const FSottoAnswer& Answer)
{
    FSottoHandlers Handlers;
    Live.RemoveAndCopyValue(Answer.Id, Handlers);
    if (Memory != nullptr)
    {
        Memory->End(Answer);
    }
    (Answer.Status == ESottoStatus::Ok ? OnDone : OnFailed).Broadcast(Answer);
    Handlers.Ended.ExecuteIfBound(Answer);
}

void USottoCharacterComponent::CancelAnswers()
{
    TArray<int64> Requests;
    Live.GetKeys(Requests);
    if (USottoSubsystem* Engine = Subsystem.Get())
    {
        for (const int64 Request : Requests)
        {
            Engine->Cancel(Request);
        }
    }
}

TMap<int64, FSottoHandlers> USottoCharacterComponent::AbandonAnswers()
{
    TMap<int64, FSottoHandlers> Abandoned = MoveTemp(Live);
    Live.Empty();
    Memory.reset();
    if (USottoSubsystem* Engine = Subsystem.Get())
    {
        for (const TPair<int64, FSottoHandlers>& Request : Abandoned)
        {
            Engine->GetHost().Abandon(Request.Key);
        }
    }
    return Abandoned;
}

void USottoCharacterComponent::Rewind(int32 Turns)
{
    CancelAnswers();
    if (USottoSubsystem* Engine = USottoSubsystem::Find(this))
    {
        Engine->GetHost().RewindConversation(GetConversation(), Turns);
    }
}

void USottoCharacterComponent::SetSheet(USottoSheet* NewSheet)
{
    Sheet = NewSheet;
    if (USottoSubsystem* Engine = USottoSubsystem::Find(this))
    {
        const FString System = IsValid(NewSheet) ? NewSheet->ToSystemMessage() : FString();
        Engine->GetHost().SetSystem(GetConversation(), System);
    }
}

ESottoPriority USottoCharacterComponent::ChoosePriority()
{
    const UWorld* World = GetWorld();
    const APlayerController* Player = World != nullptr ? World->GetFirstPlayerController() : nullptr;
    if (!bPriorityByDistance || Player == nullptr || GetOwner() == nullptr)
    {
        return Priority;
    }
    FVector View;
    FRotator Rotation;
    Player->GetPlayerViewPoint(View, Rotation);
    const USottoSettings* Settings = GetDefault<USottoSettings>();
    const SottoCore::FPriorityRange Range{Settings->NearDistance, Settings->FarDistance};
    const double Distance = FVector::Dist(View, GetOwner()->GetActorLocation());
    const sotto_priority Previous = static_cast<sotto_priority>(LastPriority) - 1;
    LastPriority = static_cast<ESottoPriority>(SottoCore::PriorityByDistance(Distance, Range, Previous) + 1);
    return LastPriority;
}

void USottoCharacterComponent::EndPlay(const EEndPlayReason::Type EndPlayReason)
{
    SottoEndCancelled(AbandonAnswers());
    Super::EndPlay(EndPlayReason);
}

void USottoCharacterComponent::BeginDestroy()
{
    // A component that never began play has no EndPlay. Callers must not run during garbage collection, and
    // the engine takes no task any more when it exits.
    if (TMap<int64, FSottoHandlers> Abandoned = AbandonAnswers(); Abandoned.Num() != 0 && Subsystem.IsValid())
    {
        AsyncTask(ENamedThreads::GameThread, [Ended = MoveTemp(Abandoned)]() { SottoEndCancelled(Ended); });
    }
    Super::BeginDestroy();
}
