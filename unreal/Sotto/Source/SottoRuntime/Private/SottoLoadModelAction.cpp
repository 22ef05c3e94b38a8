#include "SottoLoadModelAction.h"

#include "SottoLog.h"
#include "SottoSettings.h"
#include "SottoSubsystem.h"
#include "UObject/UObjectGlobals.h"

USottoLoadModelAction* USottoLoadModelAction::LoadModel(UObject* WorldContextObject, const FString& Model)
{
    USottoLoadModelAction* Action = NewObject<USottoLoadModelAction>();
    Action->Subsystem = USottoSubsystem::Find(WorldContextObject);
    Action->Model = Model.IsEmpty() ? GetDefault<USottoSettings>()->Model : Model;
    Action->RegisterWithGameInstance(WorldContextObject);
    return Action;
}

void USottoLoadModelAction::Activate()
{
    USottoSubsystem* Engine = Subsystem.Get();
    if (Engine == nullptr)
    {
        FSottoAnswer None;
        None.Status = ESottoStatus::State;
        None.Error = TEXT("invalid world context: it belongs to no running game");
        if (!ShouldBroadcastDelegates())
        {
            UE_LOG(LogSotto, Error, TEXT("a node loads no model, and no pin is executed: %s"), *None.Error);
        }
        HandleEnded(None);
        return;
    }
    FSottoHandlers Handlers;
    Handlers.Progress = FSottoProgressDelegate::CreateUObject(this, &USottoLoadModelAction::HandleProgress);
    Handlers.Ended = FSottoAnswerDelegate::CreateUObject(this, &USottoLoadModelAction::HandleEnded);
    Engine->GetHost().LoadModel(Model, Handlers);
}

void USottoLoadModelAction::HandleProgress(int64, float Fraction)
{
    if (ShouldBroadcastDelegates())
    {
        Progress.Broadcast(Fraction, ESottoStatus::Ok, FString());
    }
}

void USottoLoadModelAction::HandleEnded(const FSottoAnswer& Answer)
{
    if (ShouldBroadcastDelegates())
    {
        const bool bReady = Answer.Status == ESottoStatus::Ok;
        (bReady ? Ready : Failed).Broadcast(bReady ? 1.0f : 0.0f, Answer.Status, Answer.Error);
    }
    SetReadyToDestroy();
}
