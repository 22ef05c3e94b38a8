#include "Core/Conversations.h"

#include <algorithm>

#include "Core/Json.h"

namespace SottoCore
{

FSubmitted FConversations::Open(const FTurn& Turn)
{
    if (Sessions.count(Turn.Session) == 0)
    {
        const auto Found = Restored.find(Turn.Session);
        const std::string Messages = Found == Restored.end() ? std::string() : Found->second;
        const FSubmitted Opened = Engine.OpenSession(Turn, Messages);
        if (Opened.Request == 0)
        {
            return Opened;
        }
        Opening[Opened.Request] = Turn.Session;
        // Restored messages have a system message of their own, which the turn's replaces below.
        Sessions[Turn.Session] = Messages.empty() ? Turn.System : std::string();
    }
    if (!Turn.System.empty() && Turn.System != Sessions.at(Turn.Session))
    {
        SetSystem(Turn.Session, Turn.System);
    }
    return {};
}

FSubmitted FConversations::OpenRestored(const std::string& Model)
{
    for (const auto& [Session, Messages] : Unopened())
    {
        FTurn Turn;
        Turn.Session = Session;
        Turn.Model = Model;
        if (const FSubmitted Opened = Open(Turn); Opened.Status < 0)
        {
            return Opened;
        }
    }
    return {};
}

std::string FConversations::EndOpening(const FEvent& Event)
{
    const std::string Session = Opening.at(Event.Request);
    Opening.erase(Event.Request);
    if (Event.Status >= 0)
    {
        return {};
    }
    Sessions.erase(Session);
    return Session;
}

void FConversations::Restore(const std::string& Session, const std::string& Messages)
{
    Close(Session);
    Restored[Session] = Messages;
}

void FConversations::Adopt(const std::string& List)
{
    Sessions.clear();
    FJsonReader Reader(List);
    std::string Name;
    for (Reader.BeginObject(); Reader.NextField(Name);)
    {
        if (Name != "data")
        {
            Reader.Raw();
            continue;
        }
        for (Reader.BeginArray(); Reader.NextItem();)
        {
            for (Reader.BeginObject(); Reader.NextField(Name);)
            {
                if (Name == "session")
                {
                    const std::string Session = Reader.Text();
                    Sessions[Session] = std::string(); // unknown: the next turn sets its own
                    Restored.erase(Session);
                }
                else
                {
                    Reader.Raw();
                }
            }
        }
    }
}

void FConversations::Close(const std::string& Session)
{
    Restored.erase(Session);
    if (Sessions.erase(Session) != 0 && Engine.IsRunning())
    {
        Engine.CloseSession(Session);
    }
}

void FConversations::SetSystem(const std::string& Session, const std::string& System)
{
    const auto Found = Sessions.find(Session);
    if (Engine.IsRunning() && Found != Sessions.end() && Engine.SetSystem(Session, System))
    {
        Found->second = System;
    }
}

bool FConversations::Rewind(const std::string& Session, uint32_t Turns)
{
    return Engine.IsRunning() && Sessions.count(Session) != 0 && Engine.Rewind(Session, Turns);
}

std::vector<std::string> FConversations::OpenNames() const
{
    std::vector<std::string> Names;
    for (const auto& [Session, System] : Sessions)
    {
        Names.push_back(Session);
    }
    std::sort(Names.begin(), Names.end());
    return Names;
}

std::map<std::string, std::string> FConversations::Unopened() const
{
    std::map<std::string, std::string> Found = Restored;
    for (const auto& [Session, System] : Sessions)
    {
        Found.erase(Session);
    }
    return Found;
}

void FConversations::Clear()
{
    Opening.clear();
    Sessions.clear();
}

} // namespace SottoCore
