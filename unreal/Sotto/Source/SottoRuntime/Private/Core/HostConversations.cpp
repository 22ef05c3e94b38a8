// Conversations of a host: sessions of the library, opened by their first turn.
#include <algorithm>
#include <utility>

#include "Core/Host.h"

namespace SottoCore
{

void FHost::Submit(FJobId Job)
{
    const FTurn& Turn = Jobs.at(Job)->Turn;
    if (!Turn.Session.empty())
    {
        if (const FSubmitted Opened = Open(Turn); Opened.Status < 0)
        {
            Fail(Job, Opened.Status, Opened.Error);
            return;
        }
        if (!Turn.System.empty() && Turn.System != Sessions.at(Turn.Session))
        {
            SetSystem(Turn.Session, Turn.System);
        }
    }
    Track(Job, Engine.Say(Turn));
}

/** Opens the session of a turn, unless it is open. */
FSubmitted FHost::Open(const FTurn& Turn)
{
    if (Sessions.count(Turn.Session) != 0)
    {
        return {};
    }
    const auto Found = Restored.find(Turn.Session);
    const std::string Messages = Found == Restored.end() ? std::string() : Found->second;
    const FSubmitted Opened = Engine.OpenSession(Turn, Messages);
    if (Opened.Request != 0)
    {
        Opening[Opened.Request] = Turn.Session;
        // Restored messages have a system message of their own, which the turn's replaces in Submit().
        Sessions[Turn.Session] = Messages.empty() ? Turn.System : std::string();
    }
    return Opened;
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

void FHost::RestoreConversation(const std::string& Session, const std::string& Messages)
{
    CloseConversation(Session);
    Restored[Session] = Messages;
}

void FHost::CloseConversation(const std::string& Session)
{
    Restored.erase(Session);
    if (Sessions.erase(Session) != 0 && IsRunning())
    {
        Engine.CloseSession(Session);
    }
}

void FHost::SetSystem(const std::string& Session, const std::string& System)
{
    const auto Found = Sessions.find(Session);
    if (IsRunning() && Found != Sessions.end() && Engine.SetSystem(Session, System))
    {
        Found->second = System;
    }
}

std::vector<std::string> FHost::OpenConversations() const
{
    std::vector<std::string> Names;
    for (const auto& [Session, System] : Sessions)
    {
        Names.push_back(Session);
    }
    std::sort(Names.begin(), Names.end());
    return Names;
}

std::map<std::string, std::string> FHost::UnopenedConversations() const
{
    std::map<std::string, std::string> Unopened = Restored;
    for (const auto& [Session, System] : Sessions)
    {
        Unopened.erase(Session);
    }
    return Unopened;
}

void FHost::EndOpening(const FEvent& Event)
{
    const std::string Session = Opening.at(Event.Request);
    Opening.erase(Event.Request);
    if (Event.Status >= 0)
    {
        return;
    }
    Sessions.erase(Session);
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
