#include "SottoAnswerAction.h"

#include "SottoCharacterComponent.h"
#include "SottoLog.h"
#include "SottoSubsystem.h"
#include "UObject/UObjectGlobals.h"

USottoAnswerAction* USottoAnswerAction::SayToCharacter(
    UObject* WorldContextObject, USottoCharacterComponent* Character, const FString& Text
)
{
    USottoAnswerAction* Action = NewObject<USottoAnswerAction>();
    Action->Subsystem = USottoSubsystem::Find(WorldContextObject);
    Action->Asked = Character;
    Action->Turn.Text = Text;
    Action->bWithCharacter = true;
    Action->RegisterWithGameInstance(WorldContextObject);
    return Action;
}

USottoAnswerAction* USottoAnswerAction::AskModel(UObject* WorldContextObject, const FSottoTurn& Turn)
{
    USottoAnswerAction* Action = NewObject<USottoAnswerAction>();
    Action->Subsystem = USottoSubsystem::Find(WorldContextObject);
    Action->Turn = Turn;
    Action->RegisterWithGameInstance(WorldContextObject);
    return Action;
}

void USottoAnswerAction::Activate()
{
    FSottoHandlers Handlers;
    Handlers.Partial = FSottoTextDelegate::CreateUObject(this, &USottoAnswerAction::HandlePartial);
    Handlers.Sentence = FSottoTextDelegate::CreateUObject(this, &USottoAnswerAction::HandleSentence);
    Handlers.Ended = FSottoAnswerDelegate::CreateUObject(this, &USottoAnswerAction::HandleEnded);
    FSottoAnswer None;
    None.Status = ESottoStatus::State;
    USottoSubsystem* Engine = Subsystem.Get();
    USottoCharacterComponent* Speaker = Asked.Get();
    if (Engine == nullptr)
    {
        None.Error = TEXT("invalid world context: it belongs to no running game");
    }
    else if (!bWithCharacter)
    {
        Request = Engine->Say(Turn, Handlers);
    }
    else if (Speaker == nullptr)
    {
        None.Error = TEXT("invalid Character: expected a Sotto Character component");
    }
    else
    {
        Request = Speaker->SayTo(Turn.Text, Handlers);
        None.Error = TEXT("invalid Character: it belongs to no running game");
    }
    if (Request == 0)
    {
        if (!ShouldBroadcastDelegates())
        {
            UE_LOG(LogSotto, Error, TEXT("a node has no answer, and no pin is executed: %s"), *None.Error);
        }
        HandleEnded(None);
    }
}

void USottoAnswerAction::Cancel()
{
    if (USottoSubsystem* Engine = Subsystem.Get(); Engine != nullptr && Request != 0)
    {
        Engine->Cancel(Request);
    }
    Super::Cancel(); // no pin is executed any more
}

void USottoAnswerAction::HandlePartial(int64 Id, const FString& Text)
{
    if (ShouldBroadcastDelegates())
    {
        Partial.Broadcast(Id, Text, ESottoStatus::Ok);
    }
}

void USottoAnswerAction::HandleSentence(int64 Id, const FString& Text)
{
    if (ShouldBroadcastDelegates())
    {
        Sentence.Broadcast(Id, Text, ESottoStatus::Ok);
    }
}

void USottoAnswerAction::HandleEnded(const FSottoAnswer& Answer)
{
    if (ShouldBroadcastDelegates())
    {
        const bool bDone = Answer.Status == ESottoStatus::Ok;
        (bDone ? Done : Failed).Broadcast(Answer.Id, bDone ? Answer.Text : Answer.Error, Answer.Status);
    }
    SetReadyToDestroy();
}
