#include "SottoConvert.h"

ESottoStatus SottoToStatus(sotto_status Status)
{
    if (Status >= 0)
    {
        return ESottoStatus::Ok;
    }
    const int32 Index = -Status; // the enumerators follow the library's statuses
    return Index <= static_cast<int32>(ESottoStatus::Blocked) ? static_cast<ESottoStatus>(Index)
                                                              : ESottoStatus::Internal;
}

FSottoAnswer SottoToAnswer(const SottoCore::FResult& Result)
{
    FSottoAnswer Answer;
    Answer.Id = Result.Id;
    Answer.Text = SottoToString(Result.Text);
    Answer.Status = SottoToStatus(Result.Status);
    Answer.Error = SottoToString(Result.Error);
    Answer.Finish = Result.Finish <= SOTTO_FINISH_CONTENT_FILTER ? static_cast<ESottoFinish>(Result.Finish)
                                                                 : ESottoFinish::Stop;
    Answer.Tokens = static_cast<int32>(Result.Tokens);
    return Answer;
}

SottoCore::FTurn SottoToTurn(const FSottoTurn& Turn)
{
    SottoCore::FTurn Converted;
    Converted.Session = SottoToUtf8(Turn.Conversation);
    Converted.System = SottoToUtf8(Turn.System);
    Converted.Model = SottoToUtf8(Turn.Model);
    Converted.Text = SottoToUtf8(Turn.Text);
    Converted.Fields = SottoToUtf8(Turn.Fields);
    Converted.MaxTokens = Turn.MaxTokens > 0 ? static_cast<uint32_t>(Turn.MaxTokens) : 0;
    Converted.Temperature = Turn.Temperature;
    Converted.TargetTps = Turn.TargetTps;
    Converted.Priority =
        static_cast<sotto_priority>(Turn.Priority) - 1; // the enumerators begin at background
    return Converted;
}

SottoCore::FHandlers SottoToHandlers(const FSottoHandlers& Handlers)
{
    SottoCore::FHandlers Converted;
    if (Handlers.Partial.IsBound())
    {
        Converted.Partial = [Delegate = Handlers.Partial](SottoCore::FJobId Id, std::string_view Text)
        { Delegate.ExecuteIfBound(Id, SottoToString(Text)); };
    }
    if (Handlers.Sentence.IsBound())
    {
        Converted.Sentence = [Delegate = Handlers.Sentence](SottoCore::FJobId Id, std::string_view Text)
        { Delegate.ExecuteIfBound(Id, SottoToString(Text)); };
    }
    if (Handlers.Progress.IsBound())
    {
        Converted.Progress = [Delegate = Handlers.Progress](SottoCore::FJobId Id, float Fraction)
        { Delegate.ExecuteIfBound(Id, Fraction); };
    }
    if (Handlers.Ended.IsBound())
    {
        Converted.Done = [Delegate = Handlers.Ended](const SottoCore::FResult& Result)
        { Delegate.ExecuteIfBound(SottoToAnswer(Result)); };
    }
    return Converted;
}
