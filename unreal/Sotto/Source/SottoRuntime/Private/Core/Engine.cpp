#include "Core/Engine.h"

#include <utility>

#include "Core/Guard.h"

namespace SottoCore
{

bool FEngine::Start(const FEngineOptions& Options, std::string& Reason)
{
    if (!Api.IsLoaded())
    {
        Reason = "the library is not loaded";
        return false;
    }
    if (Engine != nullptr)
    {
        Reason = "the engine is running already";
        return false;
    }
    FGuard Guard(Api); // the engine keeps what it needs
    if (!Options.Guardrails.empty() && !Guard.Create(Options.Guardrails, Reason))
    {
        Reason = "guardrails of the settings: " + Reason;
        return false;
    }
    sotto_engine_desc Desc = SOTTO_INIT(sotto_engine_desc);
    Desc.module_dir = Str(Options.ModuleDir);
    Desc.device = Str(Options.Device);
    Desc.mode = Options.Mode;
    Desc.target_tps = Options.TargetTps;
    Desc.vram_budget = Options.MemoryBudget;
    Desc.log = Options.Log;
    Desc.guard = Guard.Handle();
    if (Api.sotto_engine_create(&Desc, &Engine) < 0)
    {
        Reason = View(Api.sotto_last_error());
        Engine = nullptr;
        return false;
    }
    return true;
}

void FEngine::Stop()
{
    if (sotto_engine* Ended = std::exchange(Engine, nullptr); Ended != nullptr)
    {
        Api.sotto_engine_destroy(Ended);
    }
}

FSubmitted FEngine::Submitted(sotto_status Status, sotto_request Request) const
{
    if (Status >= 0)
    {
        return {Request, Status, {}};
    }
    return {0, Status, std::string(View(Api.sotto_last_error()))};
}

FSubmitted FEngine::LoadModel(std::string_view Id, std::string_view Path, std::string_view Options)
{
    sotto_model_desc Desc = SOTTO_INIT(sotto_model_desc);
    Desc.id = Str(Id);
    Desc.path = Str(Path);
    Desc.options = Str(Options);
    sotto_request Request = 0;
    const sotto_status Status = Api.sotto_engine_load_model(Engine, &Desc, &Request);
    return Submitted(Status, Request);
}

FSubmitted FEngine::OpenSession(const FTurn& Turn, std::string_view Messages)
{
    sotto_session_desc Desc = SOTTO_INIT(sotto_session_desc);
    Desc.id = Str(Turn.Session);
    Desc.model = Str(Turn.Model);
    Desc.system = Messages.empty() ? Str(Turn.System) : sotto_str{}; // `Messages` begin with their own
    Desc.messages = Str(Messages);
    sotto_request Request = 0;
    const sotto_status Status = Api.sotto_engine_open_session(Engine, &Desc, &Request);
    return Submitted(Status, Request);
}

FSubmitted FEngine::ReadSession(std::string_view Session)
{
    sotto_request Request = 0;
    const sotto_status Status = Api.sotto_engine_read_session(Engine, Str(Session), 0, &Request);
    return Submitted(Status, Request);
}

FSubmitted FEngine::SaveGame(std::string_view Path)
{
    sotto_request Request = 0;
    const sotto_status Status = Api.sotto_engine_save_game(Engine, Str(Path), 0, &Request);
    return Submitted(Status, Request);
}

FSubmitted FEngine::RestoreGame(std::string_view Path)
{
    sotto_request Request = 0;
    const sotto_status Status = Api.sotto_engine_restore_game(Engine, Str(Path), 0, &Request);
    return Submitted(Status, Request);
}

bool FEngine::SetSystem(std::string_view Session, std::string_view System)
{
    return Api.sotto_engine_set_session_system(Engine, Str(Session), Str(System), 0, nullptr) >= 0;
}

bool FEngine::Rewind(std::string_view Session, uint32_t Turns)
{
    return Api.sotto_engine_rewind_session(Engine, Str(Session), Turns, 0, nullptr) >= 0;
}

void FEngine::CloseSession(std::string_view Session)
{
    Api.sotto_engine_close_session(Engine, Str(Session), 0, nullptr);
}

FSubmitted FEngine::Say(const FTurn& Turn)
{
    sotto_request Request = 0;
    if (Turn.Session.empty())
    {
        const bool bChat = Turn.Op == SOTTO_OP_CHAT;
        const std::string Body = bChat ? WriteChat(Api, Turn) : WriteOperation(Api, Turn);
        sotto_request_desc Desc = SOTTO_INIT(sotto_request_desc);
        Desc.op = Turn.Op;
        Desc.body = Str(Body);
        Desc.target_tps = Turn.TargetTps;
        Desc.priority = Turn.Priority;
        const sotto_status Status = Api.sotto_engine_submit(Engine, &Desc, &Request);
        return Submitted(Status, Request);
    }
    const std::string Fields = WriteFields(Turn);
    sotto_say_desc Desc = SOTTO_INIT(sotto_say_desc);
    Desc.session = Str(Turn.Session);
    Desc.text = Str(Turn.Text);
    Desc.fields = Str(Fields);
    Desc.target_tps = Turn.TargetTps;
    Desc.priority = Turn.Priority;
    Desc.max_tokens = Turn.MaxTokens;
    const sotto_status Status = Api.sotto_engine_say(Engine, &Desc, &Request);
    return Submitted(Status, Request);
}

void FEngine::Cancel(sotto_request Request)
{
    Api.sotto_engine_cancel(Engine, Request);
}

void FEngine::SetRequestTps(sotto_request Request, float Tps)
{
    Api.sotto_engine_set_request_tps(Engine, Request, Tps);
}

void FEngine::SetMode(sotto_mode Mode)
{
    Api.sotto_engine_set_mode(Engine, Mode);
}

void FEngine::SetMemoryBudget(uint64_t Bytes)
{
    Api.sotto_engine_set_vram_budget(Engine, Bytes);
}

void FEngine::SetTargetTps(float Tps)
{
    Api.sotto_engine_set_target_tps(Engine, Tps);
}

void FEngine::BeginFrame(uint64_t PeriodNs)
{
    sotto_frame_begin_desc Desc = SOTTO_INIT(sotto_frame_begin_desc);
    Desc.period_ns = PeriodNs;
    Api.sotto_engine_frame_begin(Engine, &Desc);
}

void FEngine::EndFrame(float GpuMs)
{
    sotto_frame_end_desc Desc = SOTTO_INIT(sotto_frame_end_desc);
    Desc.gpu_ms = GpuMs;
    Api.sotto_engine_frame_end(Engine, &Desc);
}

sotto_stats FEngine::Stats() const
{
    sotto_stats Stats = SOTTO_INIT(sotto_stats);
    if (Engine != nullptr)
    {
        Api.sotto_engine_stats(Engine, &Stats);
    }
    return Stats;
}

std::string FEngine::Describe() const
{
    sotto_str Json = {};
    if (Engine == nullptr || Api.sotto_engine_describe(Engine, &Json) < 0)
    {
        return {};
    }
    return std::string(View(Json));
}

void FEngine::Take(std::vector<FEvent>& Events)
{
    Events.clear();
    sotto_event Event = SOTTO_INIT(sotto_event);
    while (Engine != nullptr && Events.size() < kMaxTaken &&
           Api.sotto_engine_next_event(Engine, &Event) == SOTTO_OK)
    {
        FEvent& Taken = Events.emplace_back();
        Taken.Kind = Event.kind;
        Taken.Request = Event.request;
        Taken.Text = View(Event.text);
        Taken.Json = View(Event.json);
        Taken.Error = View(Event.error);
        Taken.Data = View(Event.data);
        Taken.Status = Event.status;
        Taken.Finish = Event.finish;
        Taken.Tokens = Event.tokens;
        Taken.Progress = Event.progress;
    }
}

} // namespace SottoCore
