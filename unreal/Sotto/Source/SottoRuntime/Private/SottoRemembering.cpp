#include "SottoRemembering.h"

#include <chrono>
#include <utility>

#include "Async/Async.h"
#include "Core/Waiting.h"
#include "SottoConvert.h"
#include "SottoLog.h"
#include "SottoSettings.h"
#include "SottoSheet.h"
#include "SottoSubsystem.h"
#include "UObject/UObjectGlobals.h"

static constexpr size_t GSottoMaxExchanges = 16;

static double SottoNow()
{
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/** Keeps the first memories whose tokens fit the allowance. */
static SottoCore::FOutcome SottoFit(
    const SottoCore::FApi& Api,
    sotto_engine* Engine,
    const std::string& Model,
    size_t Allowed,
    std::vector<SottoCore::FMemory>& Found
)
{
    size_t Taken = 0;
    for (size_t i = 0; i < Found.size(); ++i)
    {
        size_t Tokens = 0;
        if (const auto Counted = SottoCore::CountTokensAndWait(Api, Engine, Model, Found[i].Text, Tokens);
            !Counted)
        {
            return Counted;
        }
        Taken += Tokens;
        if (Taken > Allowed)
        {
            Found.resize(i);
        }
    }
    return {};
}

FSottoRemembering::FSottoRemembering(USottoSubsystem& InSubsystem, const FString& InCharacter)
    : Subsystem(&InSubsystem), Character(InCharacter),
      Embedder(SottoToUtf8(GetDefault<USottoSettings>()->EmbeddingModel))
{
}

void FSottoRemembering::Warn(const TCHAR* What, const SottoCore::FOutcome& Outcome) const
{
    if (!Outcome && Outcome.Status != SOTTO_ERROR_CANCELLED)
    {
        UE_LOG(LogSotto, Warning, TEXT("'%s' %s: %s"), *Character, What, *SottoToString(Outcome.Error));
    }
}

void FSottoRemembering::Run(FWork Work, std::function<void(const SottoCore::FOutcome&)> Then)
{
    USottoSubsystem* Engine = Subsystem.Get();
    if (Engine == nullptr || Engine->GetHost().IsModelReady(SottoToString(Embedder)))
    {
        RunLoaded(std::move(Work), std::move(Then));
        return;
    }
    FSottoHandlers Handlers;
    const std::weak_ptr<FSottoRemembering> Self = weak_from_this();
    Handlers.Ended.BindLambda(
        [Self, Work, Then](const FSottoAnswer& Load)
        {
            const std::shared_ptr<FSottoRemembering> Kept = Self.lock();
            if (Kept != nullptr && Load.Status == ESottoStatus::Ok)
            {
                Kept->RunLoaded(Work, Then);
            }
            else if (Kept != nullptr)
            {
                Then({SOTTO_ERROR_STATE, SottoToUtf8(Load.Error)});
            }
        }
    );
    Engine->GetHost().LoadModel(SottoToString(Embedder), Handlers);
}

void FSottoRemembering::RunLoaded(FWork Work, std::function<void(const SottoCore::FOutcome&)> Then)
{
    USottoSubsystem* Engine = Subsystem.Get();
    USottoStore* Store = Engine != nullptr ? Engine->GetMemoryStore() : nullptr;
    if (Store == nullptr)
    {
        return; // the game instance has ended
    }
    const std::weak_ptr<FSottoRemembering> Self = weak_from_this();
    Store->RunOnWorker(
        [Self,
         Work = std::move(Work),
         Then = std::move(Then),
         Handle = Engine->GetHost().Handle(),
         Model = Embedder,
         Name = SottoToUtf8(Character)](SottoCore::FStore& Opened, const SottoCore::FOutcome& Problem)
        {
            const SottoCore::FApi& Api = Opened.Functions();
            SottoCore::FMemories Memories(
                Opened,
                Name,
                [&](const std::vector<std::string>& Texts, std::vector<std::vector<float>>& Vectors)
                { return SottoCore::EmbedAndWait(Api, Handle, Model, Texts, Vectors); },
                &SottoNow
            );
            const SottoCore::FOutcome Outcome = Problem ? Work(Memories) : Problem;
            AsyncTask(
                ENamedThreads::GameThread,
                [Self, Then, Outcome]()
                {
                    if (Self.lock() != nullptr)
                    {
                        Then(Outcome);
                    }
                }
            );
        }
    );
}

void FSottoRemembering::Recall(int64 Request, const FSottoRecall& Question)
{
    Turns[Request].Question = Question;
    const auto Found = std::make_shared<std::vector<SottoCore::FMemory>>();
    const USottoSubsystem* Engine = Subsystem.Get();
    sotto_engine* Handle = Engine != nullptr ? Engine->GetHost().Handle() : nullptr;
    const FString& Speaker = Question.Model.IsEmpty() ? GetDefault<USottoSettings>()->Model : Question.Model;
    Run(
        [Found,
         Handle,
         About = SottoToUtf8(Question.Text),
         Model = SottoToUtf8(Speaker),
         Most = static_cast<size_t>(Question.Most > 0 ? Question.Most : 0),
         Tokens = static_cast<size_t>(Question.Tokens > 0 ? Question.Tokens : 0),
         Without = Exchanges](SottoCore::FMemories& Memories)
        {
            const SottoCore::FOutcome Recalled = Memories.Recall(About, Most, Without, *Found);
            return Recalled ? SottoFit(Memories.Functions(), Handle, Model, Tokens, *Found) : Recalled;
        },
        [this, Request, Found](const SottoCore::FOutcome& Outcome)
        {
            Warn(TEXT("answers without its memories"), Outcome);
            if (!Outcome)
            {
                Found->clear();
            }
            else if (const auto Turn = Turns.find(Request); Turn != Turns.end())
            {
                Turn->second.bRecalled = true;
            }
            Continue(Request, *Found);
        }
    );
}

void FSottoRemembering::Continue(int64 Request, const std::vector<SottoCore::FMemory>& Found)
{
    const auto Turn = Turns.find(Request);
    USottoSubsystem* Engine = Subsystem.Get();
    if (Turn == Turns.end() || Engine == nullptr)
    {
        return; // it ended meanwhile
    }
    Turn->second.Recalled = Found;
    TArray<FString> Facts;
    TArray<FString> Others;
    for (const SottoCore::FMemory& Memory : Found)
    {
        (Memory.Kind == SottoCore::EMemoryKind::Fact ? Facts : Others).Add(SottoToString(Memory.Text));
    }
    const USottoSheet* Sheet = Turn->second.Question.Sheet.Get();
    Engine->GetHost().Continue(
        Request, Sheet != nullptr ? Sheet->ToSystemMessageWith(Facts, Others) : FString()
    );
}

void FSottoRemembering::End(const FSottoAnswer& Answer)
{
    const auto Found = Turns.find(Answer.Id);
    if (Found == Turns.end())
    {
        return;
    }
    const FTurn Turn = std::move(Found->second);
    Turns.erase(Found);
    if (Answer.Status != ESottoStatus::Ok || !Turn.bRecalled)
    {
        return;
    }
    const USottoSheet* Sheet = Turn.Question.Sheet.Get();
    const std::string Exchange = SottoCore::ExchangeOf(
        Sheet != nullptr ? SottoToUtf8(Sheet->GetVisitor()) : std::string(),
        SottoToUtf8(Turn.Question.Text),
        SottoToUtf8(Answer.Text)
    );
    Exchanges.push_back(Exchange);
    if (Exchanges.size() > GSottoMaxExchanges)
    {
        Exchanges.erase(Exchanges.begin());
    }
    Run(
        [Used = Turn.Recalled, Exchange](SottoCore::FMemories& Memories)
        {
            const SottoCore::FOutcome Kept = Memories.Use(Used);
            return Kept ? Memories.Remember(Exchange) : Kept;
        },
        [this](const SottoCore::FOutcome& Outcome) { Warn(TEXT("does not remember an exchange"), Outcome); }
    );
}

void FSottoRemembering::Tell(const FString& Fact, float Importance)
{
    Run([Text = SottoToUtf8(Fact), Weight = static_cast<double>(Importance)](SottoCore::FMemories& Memories)
        { return Memories.Tell(Text, Weight); },
        [this](const SottoCore::FOutcome& Outcome) { Warn(TEXT("does not remember a fact"), Outcome); });
}

void FSottoRemembering::Overhear(const FString& Text, const FString& By)
{
    Run([Heard = SottoToUtf8(Text), Who = SottoToUtf8(By)](SottoCore::FMemories& Memories)
        { return Memories.Overhear(Heard, Who, SottoCore::FMemories::kTalkImportance); },
        [this](const SottoCore::FOutcome& Outcome)
        { Warn(TEXT("does not remember what it overheard"), Outcome); });
}
