#include "Core/Answer.h"

#include <utility>

namespace SottoCore
{

FAnswer::FAnswer(FJobId Id, FHandlers InHandlers) : Handlers(std::move(InHandlers))
{
    Result.Id = Id;
}

void FAnswer::Say(const std::vector<std::string>& Sentences)
{
    for (const std::string& Sentence : Sentences)
    {
        if (!bSilent && Handlers.Sentence)
        {
            Handlers.Sentence(Result.Id, Sentence);
        }
    }
}

bool FAnswer::Handle(const FEvent& Event)
{
    Result.Tokens = Event.Tokens != 0 ? Event.Tokens : Result.Tokens;
    if (Event.Kind == SOTTO_EVENT_TEXT)
    {
        Result.Text += Event.Text;
        if (!bSilent && Handlers.Partial)
        {
            Handlers.Partial(Result.Id, Event.Text);
        }
        std::vector<std::string> Sentences;
        Splitter.Feed(Event.Text, Sentences);
        Say(Sentences);
    }
    else if (Event.Kind == SOTTO_EVENT_PROGRESS)
    {
        if (!bSilent && Handlers.Progress)
        {
            Handlers.Progress(Result.Id, Event.Progress);
        }
    }
    else if (Event.Kind == SOTTO_EVENT_DATA)
    {
        if (!bSilent && Handlers.Data)
        {
            Handlers.Data(Result.Id, Event.Data, Event.Json);
        }
    }
    else if (Event.Kind == SOTTO_EVENT_CHOICE_DONE)
    {
        Result.Finish = Event.Finish;
    }
    else if (Event.Kind == SOTTO_EVENT_REQUEST_DONE)
    {
        Result.Json = Event.Json;
        Finish(Event.Status, Event.Error);
    }
    return Event.Kind == SOTTO_EVENT_REQUEST_DONE;
}

void FAnswer::Finish(sotto_status Status, std::string_view Error)
{
    if (std::exchange(bFinished, true))
    {
        return;
    }
    if (Status >= 0)
    {
        std::vector<std::string> Sentences;
        Splitter.Finish(Sentences);
        Say(Sentences);
    }
    Result.Status = Status;
    Result.Error = Error;
    if (!bSilent && Handlers.Done)
    {
        Handlers.Done(Result);
    }
}

} // namespace SottoCore
