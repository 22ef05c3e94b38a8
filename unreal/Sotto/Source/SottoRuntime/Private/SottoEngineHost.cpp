#include "SottoEngineHost.h"

#include "Async/Async.h"
#include "Core/Host.h"
#include "SottoConvert.h"
#include "SottoGpu.h"
#include "SottoImages.h"
#include "SottoLibrary.h"
#include "SottoLog.h"
#include "SottoPaths.h"

/** Receives the library's log lines, on any thread. */
static void SOTTO_CALL SottoWriteLine(void*, sotto_log_level Level, sotto_str Message)
{
    const FString Line = SottoToString(SottoCore::View(Message));
    if (Level <= SOTTO_LOG_WARN)
    {
        UE_LOG(LogSotto, Warning, TEXT("%s"), *Line);
    }
    else
    {
        UE_LOG(LogSotto, Verbose, TEXT("%s"), *Line);
    }
}

/** Returns false, and logs the call, on a thread other than the game thread. */
static bool SottoOnGameThread(const TCHAR* Call)
{
    if (IsInGameThread())
    {
        return true;
    }
    UE_LOG(
        LogSotto,
        Error,
        TEXT("%s was called off the game thread, and ignored; use AsyncTask(ENamedThreads::GameThread)"),
        Call
    );
    return false;
}

#define SOTTO_ON_GAME_THREAD(...)                                                                            \
    if (!SottoOnGameThread(ANSI_TO_TCHAR(__FUNCTION__)))                                                     \
    {                                                                                                        \
        return __VA_ARGS__;                                                                                  \
    }

FSottoEngineHost::FSottoEngineHost()
    : Images(MakeUnique<FSottoImages>()), Host(MakeUnique<SottoCore::FHost>(FSottoLibrary::Get().Functions()))
{
}

FSottoEngineHost::~FSottoEngineHost()
{
    Stop(TEXT("the engine was destroyed"), false);
}

bool FSottoEngineHost::Start(const FSottoEngineOptions& Options)
{
    SOTTO_ON_GAME_THREAD(false)
    FString Guardrails;
    FString Invalid;
    if (!FSottoPaths::ReadConfig(Options.Guardrails, Guardrails, Invalid))
    {
        Host->Refuse("guardrails of the settings: " + SottoToUtf8(Invalid));
        LogRefusal();
        return false;
    }
    const std::string Folder = SottoToUtf8(FSottoLibrary::Get().Folder());
    sotto_log_sink Log = SOTTO_INIT(sotto_log_sink);
    Log.write = &SottoWriteLine;
    SottoCore::FEngineOptions Core;
    Core.ModuleDir = Folder;
    Core.Device = SottoToUtf8(Options.Device);
    Core.Mode = static_cast<sotto_mode>(Options.Mode);
    Core.TargetTps = Options.TargetTps;
    Core.MemoryBudget = Options.MemoryBudget > 0 ? static_cast<uint64_t>(Options.MemoryBudget) : 0;
    Core.Guardrails = SottoToUtf8(Guardrails);
    Core.Log = &Log;
    if (!Host->Start(Core))
    {
        LogRefusal();
        return false;
    }
    FSottoLibrary::Get().Add(*this);
    bShareGpu = Options.bShareGpu;
    HandleEngineReady();
    return true;
}

/** Logs why the engine did not start. A library that is missing has been logged already. */
void FSottoEngineHost::LogRefusal() const
{
    if (FSottoLibrary::Get().IsLoaded())
    {
        UE_LOG(LogSotto, Error, TEXT("Sotto is off: %s"), *InertReason());
    }
    else
    {
        UE_LOG(LogSotto, Warning, TEXT("the engine did not start: %s"), *InertReason());
    }
}

void FSottoEngineHost::Stop(const FString& Why, bool bNotify)
{
    Host->Stop(SottoToUtf8(Why), bNotify);
    Images->Stop(Why, bNotify);
    FSottoLibrary::Get().Remove(*this);
}

void FSottoEngineHost::HandleEngineReady()
{
    if (!bShareGpu || !IsRunning() || !FSottoLibrary::Get().IsEngineReady())
    {
        return;
    }
    bShareGpu = false;
    FSottoGpu Gpu;
    FString Why;
    if (!Gpu.Read(Why))
    {
        UE_LOG(LogSotto, Log, TEXT("the graphics card is not shared: %s"), *Why);
        return;
    }
    // A stopped engine's handle is harmless: the library refuses it.
    const SottoCore::FApi& Api = FSottoLibrary::Get().Functions();
    sotto_engine* Engine = Host->GetEngine().Handle();
    FSottoLibrary::Get().Keep(
        Async(EAsyncExecution::ThreadPool, [Gpu, Engine, &Api]() { FSottoGpu::Attach(Api, Engine, Gpu); })
    );
}

bool FSottoEngineHost::IsRunning() const
{
    return Host->IsRunning();
}

FString FSottoEngineHost::InertReason() const
{
    const FString& Library = FSottoLibrary::Get().InertReason();
    return IsRunning() || Library.IsEmpty() ? SottoToString(Host->InertReason()) : Library;
}

int32 FSottoEngineHost::Tick()
{
    SOTTO_ON_GAME_THREAD(0)
    const int32 Delivered = static_cast<int32>(Host->Poll());
    return Delivered + Images->Deliver();
}

void FSottoEngineHost::BeginFrame(double PeriodMs)
{
    if (IsRunning())
    {
        Host->GetEngine().BeginFrame(static_cast<uint64_t>(PeriodMs > 0.0 ? PeriodMs * 1e6 : 0.0));
    }
}

void FSottoEngineHost::EndFrame()
{
    if (IsRunning())
    {
        Host->GetEngine().EndFrame(0.0f);
    }
}

void FSottoEngineHost::SetDefaultModel(const FString& Model)
{
    SOTTO_ON_GAME_THREAD()
    Host->SetDefaultModel(SottoToUtf8(Model), SottoToUtf8(FSottoPaths::ResolveModel(Model)));
}

int64 FSottoEngineHost::LoadModel(const FString& Model, const FSottoHandlers& Handlers)
{
    SOTTO_ON_GAME_THREAD(0)
    const std::string Path = SottoToUtf8(FSottoPaths::ResolveModel(Model));
    return Host->LoadModel(SottoToUtf8(Model), Path, SottoToHandlers(Handlers));
}

bool FSottoEngineHost::IsModelReady(const FString& Model) const
{
    return Host->IsModelReady(SottoToUtf8(Model));
}

int64 FSottoEngineHost::Say(const FSottoTurn& Turn, const FSottoHandlers& Handlers)
{
    return SayPrepared(Turn, Handlers, FSottoPrepareDelegate());
}

int64 FSottoEngineHost::SayPrepared(
    const FSottoTurn& Turn, const FSottoHandlers& Handlers, const FSottoPrepareDelegate& Prepare
)
{
    SOTTO_ON_GAME_THREAD(0)
    SottoCore::FTurn Converted = SottoToTurn(Turn);
    Converted.Path = SottoToUtf8(FSottoPaths::ResolveModel(Turn.Model));
    std::function<void(SottoCore::FJobId)> Called;
    if (Prepare.IsBound())
    {
        // If its object is gone, the question goes on without it.
        Called = [Prepare, this, System = Converted.System](SottoCore::FJobId Id)
        {
            if (!Prepare.ExecuteIfBound(Id))
            {
                Host->Continue(Id, System);
            }
        };
    }
    return Host->SayPrepared(Converted, SottoToHandlers(Handlers), Called);
}

int64 FSottoEngineHost::GenerateImage(const FSottoImageRequest& Request, const FSottoImageHandlers& Handlers)
{
    SOTTO_ON_GAME_THREAD(0)
    return Host->Say(FSottoImages::ToTurn(Request), Images->Listen(Handlers));
}

int64 FSottoEngineHost::RemoveBackground(
    const FString& Model, const TArray<uint8>& File, const FSottoImageHandlers& Handlers
)
{
    SOTTO_ON_GAME_THREAD(0)
    return Host->Say(FSottoImages::ToTurn(Model, File), Images->Listen(Handlers));
}

void FSottoEngineHost::Continue(int64 Request, const FString& System)
{
    SOTTO_ON_GAME_THREAD()
    Host->Continue(Request, SottoToUtf8(System));
}

sotto_engine* FSottoEngineHost::Handle() const
{
    return Host->GetEngine().Handle();
}

void FSottoEngineHost::Cancel(int64 Request)
{
    SOTTO_ON_GAME_THREAD()
    Host->Cancel(Request);
}

void FSottoEngineHost::Abandon(int64 Request)
{
    SOTTO_ON_GAME_THREAD()
    Host->Abandon(Request);
    Images->Abandon(Request);
}

void FSottoEngineHost::SetRequestTps(int64 Request, float TargetTps)
{
    SOTTO_ON_GAME_THREAD()
    Host->SetJobTps(Request, TargetTps);
}

int64 FSottoEngineHost::ReadConversation(const FString& Conversation, const FSottoHandlers& Handlers)
{
    SOTTO_ON_GAME_THREAD(0)
    const SottoCore::FApi& Api = FSottoLibrary::Get().Functions();
    SottoCore::FHandlers Converted;
    Converted.Done = [Ended = Handlers.Ended, &Api](const SottoCore::FResult& Result)
    {
        FSottoAnswer Answer = SottoToAnswer(Result);
        if (Result.Status >= 0)
        {
            Answer.Text = SottoToString(SottoCore::ReadField(Api, Result.Json, "messages"));
        }
        Ended.ExecuteIfBound(Answer);
    };
    return Host->ReadConversation(SottoToUtf8(Conversation), Converted);
}

void FSottoEngineHost::RestoreConversation(const FString& Conversation, const FString& Messages)
{
    SOTTO_ON_GAME_THREAD()
    Host->Conversations().Restore(SottoToUtf8(Conversation), SottoToUtf8(Messages));
}

void FSottoEngineHost::CloseConversation(const FString& Conversation)
{
    SOTTO_ON_GAME_THREAD()
    Host->Conversations().Close(SottoToUtf8(Conversation));
}

void FSottoEngineHost::SetSystem(const FString& Conversation, const FString& System)
{
    SOTTO_ON_GAME_THREAD()
    Host->Conversations().SetSystem(SottoToUtf8(Conversation), SottoToUtf8(System));
}

bool FSottoEngineHost::RewindConversation(const FString& Conversation, int32 Turns)
{
    SOTTO_ON_GAME_THREAD(false)
    if (Turns < 1)
    {
        UE_LOG(LogSotto, Error, TEXT("invalid Turns '%d': expected 1 or more"), Turns);
        return false;
    }
    return Host->Conversations().Rewind(SottoToUtf8(Conversation), static_cast<uint32>(Turns));
}

TArray<FString> FSottoEngineHost::OpenConversations() const
{
    TArray<FString> Names;
    for (const std::string& Name : Host->Conversations().OpenNames())
    {
        Names.Add(SottoToString(Name));
    }
    return Names;
}

TArray<FSottoConversation> FSottoEngineHost::UnopenedConversations() const
{
    TArray<FSottoConversation> Unopened;
    for (const auto& [Name, Messages] : Host->Conversations().Unopened())
    {
        FSottoConversation Conversation;
        Conversation.Name = SottoToString(Name);
        Conversation.Messages = SottoToString(Messages);
        Unopened.Add(Conversation);
    }
    return Unopened;
}

/** Returns handlers whose last one gets the JSON of the result as the text of the answer. */
static SottoCore::FHandlers SottoToJsonHandlers(const FSottoHandlers& Handlers)
{
    SottoCore::FHandlers Converted = SottoToHandlers(Handlers);
    Converted.Done = [Ended = Handlers.Ended](const SottoCore::FResult& Result)
    {
        FSottoAnswer Answer = SottoToAnswer(Result);
        Answer.Text = SottoToString(Result.Json);
        Ended.ExecuteIfBound(Answer);
    };
    return Converted;
}

int64 FSottoEngineHost::SaveGame(const FString& Path, const FSottoHandlers& Handlers)
{
    SOTTO_ON_GAME_THREAD(0)
    const FString File = FSottoPaths::ResolveSaved(Path);
    FSottoPaths::MakeFolderOf(File);
    return Host->SaveGame(SottoToUtf8(File), SottoToJsonHandlers(Handlers));
}

int64 FSottoEngineHost::RestoreGame(const FString& Path, const FSottoHandlers& Handlers)
{
    SOTTO_ON_GAME_THREAD(0)
    return Host->RestoreGame(SottoToUtf8(FSottoPaths::ResolveSaved(Path)), SottoToJsonHandlers(Handlers));
}

void FSottoEngineHost::SetMode(ESottoMode Mode)
{
    if (IsRunning())
    {
        Host->GetEngine().SetMode(static_cast<sotto_mode>(Mode));
    }
}

void FSottoEngineHost::SetMemoryBudget(int64 Bytes)
{
    if (IsRunning())
    {
        Host->GetEngine().SetMemoryBudget(Bytes > 0 ? static_cast<uint64_t>(Bytes) : 0);
    }
}

void FSottoEngineHost::SetTargetTps(float TargetTps)
{
    if (IsRunning())
    {
        Host->GetEngine().SetTargetTps(TargetTps);
    }
}

FSottoFigures FSottoEngineHost::Figures() const
{
    const sotto_stats Stats = Host->GetEngine().Stats();
    FSottoFigures Figures;
    Figures.Live = static_cast<int32>(Stats.live);
    Figures.Waiting = static_cast<int32>(Stats.waiting);
    Figures.TokensPerSecond = Stats.tokens_per_s;
    Figures.TimeToFirstTokenMs = Stats.ttft_mean_ms;
    Figures.FrameP95Ms = Stats.frame_p95_ms;
    Figures.Frames = static_cast<int64>(Stats.frames);
    Figures.BytesInUse = static_cast<int64>(Stats.bytes_in_use);
    Figures.MemoryBudget = static_cast<int64>(Stats.vram_budget);
    return Figures;
}

FString FSottoEngineHost::Describe() const
{
    return SottoToString(Host->GetEngine().Describe());
}
