#include "SottoGameAction.h"

#include "Core/Json.h"
#include "SottoConvert.h"
#include "SottoLog.h"
#include "SottoSubsystem.h"
#include "UObject/UObjectGlobals.h"

static FSottoSavedGame SottoToSavedGame(const FSottoAnswer& Answer)
{
    FSottoSavedGame Game;
    Game.Status = Answer.Status;
    Game.Error = Answer.Error;
    const std::string Json = SottoToUtf8(Answer.Text);
    SottoCore::FJsonReader Reader(Json);
    std::string Name;
    for (Reader.BeginObject(); Reader.NextField(Name);)
    {
        if (Name == "sessions")
        {
            Game.Conversations = static_cast<int32>(Reader.Integer());
        }
        else if (Name == "messages")
        {
            Game.Messages = static_cast<int32>(Reader.Integer());
        }
        else if (Name == "kv_states")
        {
            Game.KvStates = static_cast<int32>(Reader.Integer());
        }
        else if (Name == "bytes")
        {
            Game.Bytes = Reader.Integer();
        }
        else
        {
            Reader.Raw();
        }
    }
    return Game;
}

USottoGameAction* USottoGameAction::SaveGame(UObject* WorldContextObject, const FString& Path)
{
    USottoGameAction* Action = NewObject<USottoGameAction>();
    Action->Subsystem = USottoSubsystem::Find(WorldContextObject);
    Action->File = Path;
    Action->RegisterWithGameInstance(WorldContextObject);
    return Action;
}

USottoGameAction* USottoGameAction::RestoreGame(UObject* WorldContextObject, const FString& Path)
{
    USottoGameAction* Action = SaveGame(WorldContextObject, Path);
    Action->bRestores = true;
    return Action;
}

void USottoGameAction::Activate()
{
    USottoSubsystem* Engine = Subsystem.Get();
    if (Engine == nullptr)
    {
        FSottoAnswer None;
        None.Status = ESottoStatus::State;
        None.Error = TEXT("invalid world context: it belongs to no running game");
        if (!ShouldBroadcastDelegates())
        {
            UE_LOG(LogSotto, Error, TEXT("a node saves nothing, and no pin is executed: %s"), *None.Error);
        }
        HandleEnded(None);
        return;
    }
    FSottoHandlers Handlers;
    Handlers.Progress = FSottoProgressDelegate::CreateUObject(this, &USottoGameAction::HandleProgress);
    Handlers.Ended = FSottoAnswerDelegate::CreateUObject(this, &USottoGameAction::HandleEnded);
    if (bRestores)
    {
        Engine->RestoreGame(File, Handlers);
    }
    else
    {
        Engine->SaveGame(File, Handlers);
    }
}

void USottoGameAction::HandleProgress(int64, float Fraction)
{
    if (ShouldBroadcastDelegates())
    {
        Progress.Broadcast(Fraction, FSottoSavedGame());
    }
}

void USottoGameAction::HandleEnded(const FSottoAnswer& Answer)
{
    if (ShouldBroadcastDelegates())
    {
        const bool bDone = Answer.Status == ESottoStatus::Ok;
        (bDone ? Done : Failed).Broadcast(bDone ? 1.0f : 0.0f, SottoToSavedGame(Answer));
    }
    SetReadyToDestroy();
}
