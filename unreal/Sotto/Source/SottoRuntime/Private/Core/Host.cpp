#include "Core/Host.h"

#include <algorithm>
#include <utility>

namespace SottoCore
{

bool FHost::Start(const FEngineOptions& Options)
{
    std::string Why;
    if (!Engine.Start(Options, Why))
    {
        Reason = Engine.IsRunning() ? std::string() : Why;
        return false;
    }
    Reason.clear();
    return true;
}

void FHost::Stop(const std::string& Why, bool bNotify)
{
    if (Engine.IsRunning())
    {
        Engine.Stop();
        Reason = Why;
    }
    ++Generation;
    Requests.clear();
    Loading.clear();
    Talks.Clear();
    Restores.clear();
    Held.clear();
    Models.clear();
    if (!bNotify)
    {
        Jobs.clear();
        Failures.clear();
        return;
    }
    std::vector<FJobId> Live;
    for (const auto& [Id, Job] : Jobs)
    {
        Live.push_back(Id);
    }
    std::sort(Live.begin(), Live.end());
    for (const FJobId Job : Live)
    {
        Fail(Job, SOTTO_ERROR_CANCELLED, Why);
    }
}

void FHost::SetDefaultModel(const std::string& Id, const std::string& Path)
{
    DefaultModel = Id;
    Models[Id].Path = Path;
}

FJobId FHost::Add(FHandlers Handlers)
{
    const FJobId Id = NextId++;
    Jobs.emplace(Id, std::make_shared<FJob>(Id, std::move(Handlers)));
    return Id;
}

void FHost::Fail(FJobId Job, sotto_status Status, const std::string& Error)
{
    Failures.push_back({Job, Status, Error});
}

void FHost::Track(FJobId Job, const FSubmitted& Submitted)
{
    if (Submitted.Request == 0)
    {
        Fail(Job, Submitted.Status, Submitted.Error);
        return;
    }
    Requests[Submitted.Request] = Job;
    Jobs.at(Job)->Request = Submitted.Request;
}

FJobId FHost::LoadModel(const std::string& Id, const std::string& Path, FHandlers Handlers)
{
    const FJobId Job = Add(std::move(Handlers));
    if (!IsRunning())
    {
        Fail(Job, SOTTO_ERROR_STATE, Reason);
        return Job;
    }
    FModel& Model = Models[Id];
    Model.Path = Path.empty() ? Model.Path : Path;
    Model.Loads.push_back(Job);
    StartLoad(Id, Model);
    return Job;
}

bool FHost::IsModelReady(const std::string& Id) const
{
    const auto Found = Models.find(Id.empty() ? DefaultModel : Id);
    return Found != Models.end() && Found->second.bReady;
}

void FHost::StartLoad(const std::string& Id, FModel& Model)
{
    if (Model.Request != 0)
    {
        return;
    }
    const FSubmitted Load = Engine.LoadModel(Id, Model.Path, {});
    if (Load.Request != 0)
    {
        Model.Request = Load.Request;
        Loading[Load.Request] = Id;
        return;
    }
    for (std::vector<FJobId>* List : {&Model.Loads, &Model.Waiting})
    {
        for (const FJobId Job : std::exchange(*List, {}))
        {
            Fail(Job, Load.Status, Load.Error);
        }
    }
}

void FHost::EndLoad(const std::string& Id, const FEvent& Event)
{
    FModel& Model = Models[Id];
    Model.Request = 0;
    Model.bReady = Event.Status >= 0;
    const std::vector<FJobId> Waiting = std::exchange(Model.Waiting, {});
    const std::vector<FJobId> Loads = std::exchange(Model.Loads, {});
    for (const FJobId Job : Waiting)
    {
        if (Event.Status < 0)
        {
            Fail(Job, Event.Status, Event.Error);
        }
        else if (const auto Found = Jobs.find(Job); Found != Jobs.end() && !Found->second->bCancelled)
        {
            Begin(Job);
        }
    }
    for (const FJobId Job : Loads)
    {
        End(Job, {Job, Event.Status, Event.Error});
    }
}

FJobId FHost::Say(const FTurn& Turn, FHandlers Handlers)
{
    return SayPrepared(Turn, std::move(Handlers), {});
}

FJobId FHost::SayPrepared(const FTurn& Turn, FHandlers Handlers, std::function<void(FJobId)> Prepare)
{
    const FJobId Job = Add(std::move(Handlers));
    Jobs.at(Job)->Prepare = std::move(Prepare);
    FTurn& Kept = Jobs.at(Job)->Turn = Turn;
    Kept.Model = Kept.Model.empty() ? DefaultModel : Kept.Model;
    if (!IsRunning())
    {
        Fail(Job, SOTTO_ERROR_STATE, Reason);
        return Job;
    }
    if (Kept.Model.empty())
    {
        Fail(
            Job, SOTTO_ERROR_ARGUMENT, "invalid Model '': expected the id of a model; set one in the settings"
        );
        return Job;
    }
    FModel& Model = Models[Kept.Model];
    Model.Path = Kept.Path.empty() ? Model.Path : Kept.Path;
    if (Model.bReady)
    {
        Begin(Job);
        return Job;
    }
    Model.Waiting.push_back(Job);
    StartLoad(Kept.Model, Model);
    return Job;
}

void FHost::Cancel(FJobId Job)
{
    const auto Found = Jobs.find(Job);
    if (Found == Jobs.end() || !IsRunning())
    {
        return;
    }
    if (Found->second->Request != 0)
    {
        Engine.Cancel(Found->second->Request);
        return;
    }
    Found->second->bCancelled = true;
    Fail(Job, SOTTO_ERROR_CANCELLED, "cancelled before it was submitted");
}

void FHost::Abandon(FJobId Job)
{
    if (const auto Found = Jobs.find(Job); Found != Jobs.end())
    {
        Found->second->Answer.Silence();
        Cancel(Job);
    }
}

void FHost::SetJobTps(FJobId Job, float Tps)
{
    const auto Found = Jobs.find(Job);
    if (Found == Jobs.end())
    {
        return;
    }
    Found->second->Turn.TargetTps = Tps;
    if (Found->second->Request != 0 && IsRunning())
    {
        Engine.SetRequestTps(Found->second->Request, Tps);
    }
}

void FHost::End(FJobId Job, const FFailure& Failure)
{
    const auto Found = Jobs.find(Job);
    if (Found == Jobs.end())
    {
        return; // ended, and this is a second reason
    }
    const FJobPtr Kept = Found->second;
    Requests.erase(Kept->Request);
    Jobs.erase(Found);
    Kept->Answer.Finish(Failure.Status, Failure.Error);
}

void FHost::RouteLoad(const std::string& Id, const FEvent& Event)
{
    if (Event.Kind == SOTTO_EVENT_REQUEST_DONE)
    {
        Loading.erase(Event.Request);
        EndLoad(Id, Event);
        return;
    }
    const std::vector<FJobId> Loads = Models[Id].Loads;
    for (const FJobId Job : Loads)
    {
        if (const auto Found = Jobs.find(Job); Found != Jobs.end())
        {
            const FJobPtr Kept = Found->second;
            Kept->Answer.Handle(Event);
        }
    }
}

void FHost::Route(const FEvent& Event)
{
    const bool bLast = Event.Kind == SOTTO_EVENT_REQUEST_DONE;
    if (const auto Load = Loading.find(Event.Request); Load != Loading.end())
    {
        RouteLoad(std::string(Load->second), Event);
        return;
    }
    if (Talks.IsOpening(Event.Request) && bLast)
    {
        EndOpening(Event);
        return;
    }
    if (bLast && Restores.count(Event.Request) != 0)
    {
        RouteRestore(Event);
        return;
    }
    const auto Found = Requests.find(Event.Request);
    if (Found == Requests.end())
    {
        return; // its job has ended already
    }
    const FJobId Id = Found->second;
    const FJobPtr Kept = Jobs.at(Id);
    if (bLast)
    {
        Requests.erase(Found);
        Jobs.erase(Id);
    }
    Kept->Answer.Handle(Event);
}

size_t FHost::Poll()
{
    const std::vector<FFailure> Failed = std::exchange(Failures, {});
    std::vector<FEvent> Events = std::exchange(Taken, {});
    Engine.Take(Events);
    const uint64_t Begun = Generation;
    size_t Delivered = 0;
    for (const FFailure& Failure : Failed)
    {
        End(Failure.Job, Failure);
        ++Delivered;
        if (Generation != Begun)
        {
            return Delivered;
        }
    }
    for (const FEvent& Event : Events)
    {
        Route(Event);
        ++Delivered;
        if (Generation != Begun)
        {
            return Delivered;
        }
    }
    Events.clear();
    Taken = std::move(Events);
    return Delivered;
}

} // namespace SottoCore
