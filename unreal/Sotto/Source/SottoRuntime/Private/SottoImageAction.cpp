#include "SottoImageAction.h"

#include "SottoLog.h"
#include "SottoSubsystem.h"
#include "UObject/UObjectGlobals.h"

USottoImageAction*
USottoImageAction::GenerateImage(UObject* WorldContextObject, const FSottoImageRequest& ImageRequest)
{
    USottoImageAction* Action = NewObject<USottoImageAction>();
    Action->Subsystem = USottoSubsystem::Find(WorldContextObject);
    Action->Wanted = ImageRequest;
    Action->RegisterWithGameInstance(WorldContextObject);
    return Action;
}

USottoImageAction* USottoImageAction::RemoveBackground(
    UObject* WorldContextObject, const FString& Model, const TArray<uint8>& File
)
{
    USottoImageAction* Action = NewObject<USottoImageAction>();
    Action->Subsystem = USottoSubsystem::Find(WorldContextObject);
    Action->Matte = Model;
    Action->Source = File;
    Action->bGenerates = false;
    Action->RegisterWithGameInstance(WorldContextObject);
    return Action;
}

void USottoImageAction::Activate()
{
    USottoSubsystem* Engine = Subsystem.Get();
    if (Engine == nullptr)
    {
        FSottoImage None;
        None.Status = ESottoStatus::State;
        None.Error = TEXT("invalid world context: it belongs to no running game");
        if (!ShouldBroadcastDelegates())
        {
            UE_LOG(LogSotto, Error, TEXT("a node has no image, and no pin is executed: %s"), *None.Error);
        }
        HandleEnded(None);
        return;
    }
    FSottoImageHandlers Handlers;
    Handlers.Preview = FSottoImageDelegate::CreateUObject(this, &USottoImageAction::HandlePreview);
    Handlers.Progress = FSottoProgressDelegate::CreateUObject(this, &USottoImageAction::HandleProgress);
    Handlers.Ended = FSottoImageDelegate::CreateUObject(this, &USottoImageAction::HandleEnded);
    Request = bGenerates ? Engine->GetHost().GenerateImage(Wanted, Handlers)
                         : Engine->GetHost().RemoveBackground(Matte, Source, Handlers);
}

void USottoImageAction::Cancel()
{
    if (USottoSubsystem* Engine = Subsystem.Get(); Engine != nullptr && Request != 0)
    {
        Engine->Cancel(Request);
    }
    Super::Cancel(); // no pin is executed any more
}

void USottoImageAction::HandleProgress(int64, float Fraction)
{
    if (ShouldBroadcastDelegates())
    {
        Progress.Broadcast(Fraction, FSottoImage());
    }
}

void USottoImageAction::HandlePreview(const FSottoImage& Image)
{
    if (ShouldBroadcastDelegates())
    {
        Preview.Broadcast(0.0f, Image);
    }
}

void USottoImageAction::HandleEnded(const FSottoImage& Image)
{
    if (ShouldBroadcastDelegates())
    {
        const bool bDone = Image.Status == ESottoStatus::Ok;
        (bDone ? Done : Failed).Broadcast(bDone ? 1.0f : 0.0f, Image);
    }
    SetReadyToDestroy();
}
