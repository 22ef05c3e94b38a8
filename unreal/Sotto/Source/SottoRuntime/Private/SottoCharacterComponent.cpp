#include "SottoCharacterComponent.h"

#include "Core/Priority.h"
#include "Engine/World.h"
#include "GameFramework/Actor.h"
#include "GameFramework/PlayerController.h"
#include "SottoLog.h"
#include "SottoSettings.h"
#include "SottoSheet.h"
#include "SottoSubsystem.h"

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
    return GetOwner() != nullptr ? GetOwner()->GetName() : GetName();
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
    const int64 Request = Engine->Say(Turn, Own);
    Live.Add(Request, Handlers);
    return Request;
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

void USottoCharacterComponent::AbandonAnswers()
{
    TArray<int64> Requests;
    Live.GetKeys(Requests);
    Live.Empty();
    if (USottoSubsystem* Engine = Subsystem.Get())
    {
        for (const int64 Request : Requests)
        {
            Engine->GetHost().Abandon(Request);
        }
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
    AbandonAnswers();
    Super::EndPlay(EndPlayReason);
}

void USottoCharacterComponent::BeginDestroy()
{
    AbandonAnswers(); // a component that never began play has no EndPlay
    Super::BeginDestroy();
}
