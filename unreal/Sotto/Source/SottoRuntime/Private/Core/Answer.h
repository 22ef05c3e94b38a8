#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "Core/Engine.h"
#include "Core/Sentences.h"

namespace SottoCore
{

/** Id of an answer or of another job of a host. Never reused; 0 is never valid. */
using FJobId = int64_t;

/** End of a job: the whole text, and the reason if the job failed. */
struct FResult
{
    FJobId Id = 0;
    std::string Text;
    std::string Json;
    std::string Error;
    sotto_status Status = SOTTO_OK;
    sotto_finish Finish = SOTTO_FINISH_NONE;
    uint32_t Tokens = 0;
};

/** What a caller wants to learn of a job. Each function may be empty. */
struct FHandlers
{
    std::function<void(FJobId, std::string_view)> Partial;
    std::function<void(FJobId, std::string_view)> Sentence;
    std::function<void(FJobId, float)> Progress;
    std::function<void(FJobId, std::string_view, std::string_view)>
        Data;                                 // bytes, and JSON that describes them
    std::function<void(const FResult&)> Done; // exactly once, for success and failure
};

/** Collects the events of one request and calls the handlers. */
class FAnswer
{
public:
    FAnswer(FJobId Id, FHandlers InHandlers);

    /** Handles one event. Returns true if it was the last event of the request. */
    bool Handle(const FEvent& Event);

    /** Ends the answer with a status, unless it has ended. */
    void Finish(sotto_status Status, std::string_view Error);

    /** No handler is called any more. The handlers live as long as the answer: one of them may be running. */
    void Silence() { bSilent = true; }

private:
    void Say(const std::vector<std::string>& Sentences);

    FHandlers Handlers;
    FSentences Splitter;
    FResult Result;
    bool bFinished = false;
    bool bSilent = false;
};

} // namespace SottoCore
