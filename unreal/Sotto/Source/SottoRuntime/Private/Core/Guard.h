#pragma once

#include <string>
#include <string_view>

#include "Core/Api.h"

namespace SottoCore
{

/** The result of a check. */
struct FVerdict
{
    enum class EAction
    {
        Allow,
        Block,
        Rewrite
    };

    EAction Action = EAction::Allow;
    bool bAllowed = true;
    std::string Checker;   // that decided
    std::string Category;  // of that checker, or empty
    std::string Reason;    // why the text was blocked or rewritten
    std::string Rewritten; // the text to use instead, if it was rewritten
    double Score = -1;     // confidence from 0 to 1; -1: nothing was found
    std::string Error;     // why there was no check; the text is not allowed then
};

/** Text of a stream that may be shown. */
struct FReleased
{
    std::string Text;
    bool bBlocked = false;
    std::string Error; // why there was no check; nothing more is released then
};

/** Checks text against phrases and regular expressions. Any thread may check. */
class FGuard
{
public:
    explicit FGuard(const FApi& InApi) : Api(InApi) {}
    ~FGuard() { Close(); }
    FGuard(const FGuard&) = delete;
    FGuard& operator=(const FGuard&) = delete;

    /** Compiles a configuration. Returns false and sets `Reason` on failure. */
    bool Create(std::string_view Config, std::string& Reason);

    /** Frees the guard, before the library is freed. A later check allows nothing. */
    void Close();

    FVerdict Check(sotto_guard_stage Stage, std::string_view Text) const;

    sotto_guard* Handle() const { return Guard; }
    const FApi& Functions() const { return Api; }

private:
    const FApi& Api;
    sotto_guard* Guard = nullptr;
};

/** Checks a text that arrives in pieces. One thread at a time; continues to work without its guard. */
class FGuardStream
{
public:
    explicit FGuardStream(const FApi& InApi) : Api(InApi) {}
    ~FGuardStream() { Close(); }
    FGuardStream(const FGuardStream&) = delete;
    FGuardStream& operator=(const FGuardStream&) = delete;

    /** Starts a text. Returns false and sets `Reason` on failure. */
    bool Open(const FGuard& Guard, sotto_guard_stage Stage, std::string& Reason);

    /** Frees the stream, before the library is freed. */
    void Close();

    /** Adds a piece of the text and returns what may be shown. */
    FReleased Feed(std::string_view Piece);

    /** Ends the text and returns the rest that may be shown. */
    FReleased Finish();

    /** Returns the verdict on the text so far. */
    FVerdict Verdict() const;

private:
    const FApi& Api;
    sotto_guard_stream* Stream = nullptr;
};

} // namespace SottoCore
