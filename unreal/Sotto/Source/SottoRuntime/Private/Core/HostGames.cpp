// Turns of a host and what they wait for: their session, and save games that are being restored.
#include <algorithm>
#include <utility>

#include "Core/Host.h"

namespace SottoCore
{

/** Submits a turn whose model is loaded, unless it has to wait for a restore or has to be prepared. */
void FHost::Begin(FJobId Job)
{
    if (!Restores.empty() && !Jobs.at(Job)->Turn.Session.empty())
    {
        Held.push_back(Job);
        return;
    }
    if (const auto Prepare = std::exchange(Jobs.at(Job)->Prepare, {}))
    {
        Prepare(Job);
        return;
    }
    Submit(Job);
}

void FHost::Continue(FJobId Job, const std::string& System)
{
    const auto Found = Jobs.find(Job);
    if (Found == Jobs.end() || Found->second->bCancelled || Found->second->Request != 0 || !IsRunning())
    {
        return;
    }
    Found->second->Turn.System = System;
    Begin(Job);
}

void FHost::Submit(FJobId Job)
{
    const FTurn& Turn = Jobs.at(Job)->Turn;
    if (!Turn.Session.empty())
    {
        if (const FSubmitted Opened = Talks.Open(Turn); Opened.Status < 0)
        {
            Fail(Job, Opened.Status, Opened.Error);
            return;
        }
    }
    Track(Job, Engine.Say(Turn));
}

FJobId FHost::ReadConversation(const std::string& Session, FHandlers Handlers)
{
    const FJobId Job = Add(std::move(Handlers));
    if (!IsRunning())
    {
        Fail(Job, SOTTO_ERROR_STATE, Reason);
    }
    else
    {
        Track(Job, Engine.ReadSession(Session));
    }
    return Job;
}

FJobId FHost::SaveGame(const std::string& Path, FHandlers Handlers)
{
    const FJobId Job = Add(std::move(Handlers));
    if (!IsRunning())
    {
        Fail(Job, SOTTO_ERROR_STATE, Reason);
        return Job;
    }
    const FSubmitted Opened = Talks.OpenRestored(DefaultModel);
    Track(Job, Opened.Status < 0 ? Opened : Engine.SaveGame(Path));
    return Job;
}

FJobId FHost::RestoreGame(const std::string& Path, FHandlers Handlers)
{
    const FJobId Job = Add(std::move(Handlers));
    if (!IsRunning())
    {
        Fail(Job, SOTTO_ERROR_STATE, Reason);
        return Job;
    }
    const FSubmitted Submitted = Engine.RestoreGame(Path);
    Track(Job, Submitted);
    if (Submitted.Request != 0)
    {
        Restores[Submitted.Request] = {Job, {}};
    }
    return Job;
}

/** Handles the last event of a restore, or of the list of sessions that is read after it. */
void FHost::RouteRestore(const FEvent& Event)
{
    FRestore Restore = std::move(Restores.at(Event.Request));
    Restores.erase(Event.Request);
    const bool bListed = Restore.Done.Kind != 0;
    if (!bListed && Event.Status >= 0)
    {
        Restore.Done = Event;
        const FSubmitted List = Engine.ReadSession({});
        if (List.Request != 0)
        {
            Restores[List.Request] = std::move(Restore);
            return;
        }
        Restore.Done.Status = List.Status;
        Restore.Done.Error = List.Error;
    }
    if (bListed && Event.Status >= 0)
    {
        Talks.Adopt(Event.Json);
    }
    EndRestore(Restore.Job, Restore.Done.Kind != 0 ? Restore.Done : Event);
}

void FHost::EndRestore(FJobId Job, const FEvent& Event)
{
    if (Restores.empty())
    {
        for (const FJobId Turn : std::exchange(Held, {}))
        {
            if (const auto Found = Jobs.find(Turn); Found != Jobs.end() && !Found->second->bCancelled)
            {
                Begin(Turn);
            }
        }
    }
    if (const auto Found = Jobs.find(Job); Found != Jobs.end())
    {
        const FJobPtr Kept = Found->second;
        Requests.erase(Kept->Request);
        Jobs.erase(Found);
        Kept->Answer.Handle(Event);
    }
}

void FHost::EndOpening(const FEvent& Event)
{
    const std::string Session = Talks.EndOpening(Event);
    if (Session.empty())
    {
        return;
    }
    std::vector<FJobId> Turns;
    for (const auto& [Id, Job] : Jobs)
    {
        if (Job->Turn.Session == Session && Job->Request != 0)
        {
            Turns.push_back(Id);
        }
    }
    for (const FJobId Turn : Turns)
    {
        End(Turn, {Turn, Event.Status, Event.Error}); // the turn itself fails with a less helpful error
    }
}

} // namespace SottoCore
