#include "SottoSubsystem.h"

#include "Engine/GameInstance.h"
#include "Engine/World.h"
#include "Misc/CoreDelegates.h"
#include "SottoLog.h"
#include "SottoSaveGame.h"
#include "SottoSettings.h"
#include "SottoStats.h"
#include "SottoStore.h"

void USottoSubsystem::Initialize(FSubsystemCollectionBase& Collection)
{
    Super::Initialize(Collection);
    const USottoSettings* Settings = GetDefault<USottoSettings>();
    FSottoEngineOptions Options;
    Options.Device = Settings->Device;
    Options.Mode = Settings->Mode;
    Options.TargetTps = Settings->TargetTps;
    Options.MemoryBudget = static_cast<int64>(Settings->MemoryBudgetMiB) << 20;
    Options.bShareGpu = Settings->bShareGpu;
    Options.Guardrails = Settings->Guardrails;
    const bool bStarted = Host.Start(Options);
    Host.SetDefaultModel(Settings->Model);
    // The ticker also delivers failures while the engine does not run.
    Ticker = FTSTicker::GetCoreTicker().AddTicker(
        FTickerDelegate::CreateUObject(this, &USottoSubsystem::Tick), 0.0f
    );
    if (!bStarted)
    {
        return;
    }
    if (Settings->bReportFrames)
    {
        FrameBegan = FCoreDelegates::OnBeginFrame.AddUObject(this, &USottoSubsystem::BeginFrame);
        FrameEnded = FCoreDelegates::OnEndFrame.AddUObject(this, &USottoSubsystem::EndFrame);
    }
    if (Settings->bLoadAtStart)
    {
        FSottoHandlers Handlers;
        Handlers.Ended = FSottoAnswerDelegate::CreateUObject(this, &USottoSubsystem::LogLoad);
        Host.LoadModel(Settings->Model, Handlers);
    }
}

void USottoSubsystem::Deinitialize()
{
    FTSTicker::GetCoreTicker().RemoveTicker(Ticker);
    FCoreDelegates::OnBeginFrame.Remove(FrameBegan);
    FCoreDelegates::OnEndFrame.Remove(FrameEnded);
    if (Memories != nullptr)
    {
        Memories->Flush(500); // embeds the last exchanges while there is an engine; usually there is nothing
    }
    Host.Stop(TEXT("the game instance has ended"), false);
    if (Memories != nullptr)
    {
        Memories->Close();
        Memories = nullptr;
    }
    Super::Deinitialize();
}

USottoSubsystem* USottoSubsystem::Find(const UObject* WorldContextObject)
{
    const UWorld* World = IsValid(WorldContextObject) ? WorldContextObject->GetWorld() : nullptr;
    UGameInstance* GameInstance = World != nullptr ? World->GetGameInstance() : nullptr;
    return GameInstance != nullptr ? GameInstance->GetSubsystem<USottoSubsystem>() : nullptr;
}

void USottoSubsystem::LogLoad(const FSottoAnswer& Answer)
{
    if (Answer.Status != ESottoStatus::Ok && Answer.Status != ESottoStatus::Cancelled)
    {
        UE_LOG(LogSotto, Error, TEXT("the model of the project settings is not loaded: %s"), *Answer.Error);
    }
}

USottoStore* USottoSubsystem::GetMemoryStore()
{
    if (Memories == nullptr)
    {
        const USottoSettings* Settings = GetDefault<USottoSettings>();
        Memories = USottoStore::OpenStore(Settings->MemoryStore, Settings->EmbeddingDim);
    }
    return Memories;
}

bool USottoSubsystem::Tick(float)
{
    SCOPE_CYCLE_COUNTER(STAT_SottoDeliver);
    Host.Tick();
    UpdateStats();
    return true;
}

void USottoSubsystem::BeginFrame()
{
    Host.BeginFrame(GetDefault<USottoSettings>()->FramePeriodMs);
}

void USottoSubsystem::EndFrame()
{
    Host.EndFrame();
}

void USottoSubsystem::UpdateStats() const
{
#if STATS
    const FSottoFigures Figures = Host.Figures();
    SET_DWORD_STAT(STAT_SottoLive, Figures.Live);
    SET_DWORD_STAT(STAT_SottoWaiting, Figures.Waiting);
    SET_FLOAT_STAT(STAT_SottoTokens, Figures.TokensPerSecond);
    SET_FLOAT_STAT(STAT_SottoFirstToken, Figures.TimeToFirstTokenMs);
    SET_MEMORY_STAT(STAT_SottoModels, Figures.BytesInUse);
#endif
}

bool USottoSubsystem::IsRunning() const
{
    return Host.IsRunning();
}

FString USottoSubsystem::GetInertReason() const
{
    return Host.InertReason();
}

bool USottoSubsystem::IsModelReady(const FString& Model) const
{
    return Host.IsModelReady(Model);
}

void USottoSubsystem::Cancel(int64 Request)
{
    Host.Cancel(Request);
}

void USottoSubsystem::SetMode(ESottoMode Mode)
{
    Host.SetMode(Mode);
}

void USottoSubsystem::SetMemoryBudget(int64 Bytes)
{
    Host.SetMemoryBudget(Bytes);
}

void USottoSubsystem::SetTargetTps(float TokensPerSecond)
{
    Host.SetTargetTps(TokensPerSecond);
}

FSottoFigures USottoSubsystem::GetFigures() const
{
    return Host.Figures();
}

void USottoSubsystem::StoreConversations(USottoSaveGame* SaveGame)
{
    if (!IsValid(SaveGame) || Storing != nullptr)
    {
        UE_LOG(
            LogSotto,
            Error,
            TEXT("conversations are not stored: %s"),
            SaveGame == nullptr ? TEXT("invalid SaveGame: expected an object")
                                : TEXT("they are being stored already")
        );
        return;
    }
    Storing = SaveGame;
    SaveGame->Conversations = Host.UnopenedConversations();
    FSottoHandlers Handlers;
    Handlers.Ended = FSottoAnswerDelegate::CreateUObject(this, &USottoSubsystem::KeepConversation);
    for (const FString& Conversation : Host.OpenConversations())
    {
        Reading.Add(Host.ReadConversation(Conversation, Handlers), Conversation);
    }
    if (Reading.Num() == 0)
    {
        FinishStoring();
    }
}

void USottoSubsystem::KeepConversation(const FSottoAnswer& Answer)
{
    FString Conversation;
    if (!Reading.RemoveAndCopyValue(Answer.Id, Conversation))
    {
        return;
    }
    if (Answer.Status != ESottoStatus::Ok)
    {
        Unread.Add(Conversation);
        UE_LOG(
            LogSotto, Warning, TEXT("the conversation '%s' is not stored: %s"), *Conversation, *Answer.Error
        );
    }
    else if (IsValid(Storing))
    {
        FSottoConversation Stored;
        Stored.Name = Conversation;
        Stored.Messages = Answer.Text;
        Storing->Conversations.Add(Stored);
    }
    if (Reading.Num() == 0)
    {
        FinishStoring();
    }
}

void USottoSubsystem::FinishStoring()
{
    USottoSaveGame* Stored = Storing;
    const TArray<FString> Missing = MoveTemp(Unread);
    Storing = nullptr;
    Unread.Empty();
    OnConversationsStored.Broadcast(Stored, Missing);
}

void USottoSubsystem::RestoreConversations(const USottoSaveGame* SaveGame)
{
    if (!IsValid(SaveGame))
    {
        UE_LOG(LogSotto, Error, TEXT("conversations are not restored: invalid SaveGame: expected an object"));
        return;
    }
    for (const FSottoConversation& Conversation : SaveGame->Conversations)
    {
        Host.RestoreConversation(Conversation.Name, Conversation.Messages);
    }
}

void USottoSubsystem::CloseConversation(const FString& Conversation)
{
    Host.CloseConversation(Conversation);
}
