#include "Core/Guard.h"

#include <utility>

#include "Core/Json.h"

namespace SottoCore
{

namespace
{

constexpr const char* kGuardClosed = "the guard is closed: create another one";

/** Reads "Allow", {"Block": {...}} or {"Rewrite": {...}}. */
void ReadAction(FJsonReader& Reader, FVerdict& Verdict)
{
    if (Reader.Peek() == '"')
    {
        Reader.Text();
        return;
    }
    std::string Name;
    for (Reader.BeginObject(); Reader.NextField(Name);)
    {
        Verdict.Action = Name == "Rewrite" ? FVerdict::EAction::Rewrite : FVerdict::EAction::Block;
        for (Reader.BeginObject(); Reader.NextField(Name);)
        {
            if (Name == "reason")
            {
                Verdict.Reason = Reader.Text();
            }
            else if (Name == "rewritten")
            {
                Verdict.Rewritten = Reader.Text();
            }
            else
            {
                Reader.Raw();
            }
        }
    }
}

FVerdict ReadVerdict(std::string_view Json)
{
    FVerdict Verdict;
    FJsonReader Reader(Json);
    std::string Name;
    for (Reader.BeginObject(); Reader.NextField(Name);)
    {
        if (Name == "action")
        {
            ReadAction(Reader, Verdict);
        }
        else if (Name == "allowed")
        {
            Verdict.bAllowed = Reader.Flag();
        }
        else if (Name == "checker_name")
        {
            Verdict.Checker = Reader.Text();
        }
        else if (Name == "category")
        {
            Verdict.Category = Reader.Text();
        }
        else if (Name == "score" && Reader.Peek() != 'n')
        {
            Verdict.Score = Reader.Number();
        }
        else
        {
            Reader.Raw();
        }
    }
    if (!Reader.IsValid())
    {
        Verdict.Error = "the library returned an invalid verdict";
    }
    return Verdict;
}

/** Returns a verdict that allows nothing, because there was no check. */
FVerdict Unchecked(std::string Error)
{
    FVerdict Verdict;
    Verdict.Action = FVerdict::EAction::Block;
    Verdict.bAllowed = false;
    Verdict.Reason = Verdict.Error = std::move(Error);
    return Verdict;
}

} // namespace

bool FGuard::Create(std::string_view Config, std::string& Reason)
{
    if (!Api.IsLoaded())
    {
        Reason = "the library is not loaded";
        return false;
    }
    Close();
    if (Api.sotto_guard_create(Str(Config), &Guard) < 0)
    {
        Reason = View(Api.sotto_last_error());
        return false;
    }
    return true;
}

void FGuard::Close()
{
    if (sotto_guard* Closed = std::exchange(Guard, nullptr); Closed != nullptr && Api.IsLoaded())
    {
        Api.sotto_guard_destroy(Closed);
    }
}

FVerdict FGuard::Check(sotto_guard_stage Stage, std::string_view Text) const
{
    if (Guard == nullptr || !Api.IsLoaded())
    {
        return Unchecked(kGuardClosed);
    }
    sotto_str Verdict = {};
    if (Api.sotto_guard_check(Guard, Stage, Str(Text), &Verdict) < 0)
    {
        return Unchecked(std::string(View(Api.sotto_last_error())));
    }
    return ReadVerdict(View(Verdict));
}

bool FGuardStream::Open(const FGuard& Guard, sotto_guard_stage Stage, std::string& Reason)
{
    Close();
    if (Guard.Handle() == nullptr || !Api.IsLoaded())
    {
        Reason = kGuardClosed;
        return false;
    }
    if (Api.sotto_guard_open_stream(Guard.Handle(), Stage, &Stream) < 0)
    {
        Reason = View(Api.sotto_last_error());
        return false;
    }
    return true;
}

void FGuardStream::Close()
{
    if (sotto_guard_stream* Closed = std::exchange(Stream, nullptr); Closed != nullptr && Api.IsLoaded())
    {
        Api.sotto_guard_stream_close(Closed);
    }
}

FReleased FGuardStream::Feed(std::string_view Piece)
{
    sotto_str Text = {};
    int32_t Blocked = 0;
    if (Stream == nullptr || !Api.IsLoaded())
    {
        return {{}, true, kGuardClosed};
    }
    if (Api.sotto_guard_stream_feed(Stream, Str(Piece), &Text, &Blocked) < 0)
    {
        return {{}, true, std::string(View(Api.sotto_last_error()))};
    }
    return {std::string(View(Text)), Blocked != 0, {}};
}

FReleased FGuardStream::Finish()
{
    sotto_str Text = {};
    int32_t Blocked = 0;
    if (Stream == nullptr || !Api.IsLoaded())
    {
        return {{}, true, kGuardClosed};
    }
    if (Api.sotto_guard_stream_finish(Stream, &Text, &Blocked) < 0)
    {
        return {{}, true, std::string(View(Api.sotto_last_error()))};
    }
    return {std::string(View(Text)), Blocked != 0, {}};
}

FVerdict FGuardStream::Verdict() const
{
    sotto_str Verdict = {};
    if (Stream == nullptr || !Api.IsLoaded())
    {
        return Unchecked(kGuardClosed);
    }
    if (Api.sotto_guard_stream_verdict(Stream, &Verdict) < 0)
    {
        return Unchecked(std::string(View(Api.sotto_last_error())));
    }
    return ReadVerdict(View(Verdict));
}

} // namespace SottoCore
