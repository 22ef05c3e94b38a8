#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "Core/Answer.h"

namespace SottoCore
{

/**
 * An engine with its models, conversations and answers, driven by the game thread.
 *
 * Each job ends with exactly one call of its Done handler, in a later Poll(), also if it could not be
 * submitted. A handler may therefore start the next job without recursion: a failing job is retried at most
 * once a frame. Handlers may also stop the host.
 */
class FHost
{
public:
    explicit FHost(const FApi& InApi) : Engine(InApi) {}

    /** Starts the engine. Returns false and keeps the reason on failure. */
    bool Start(const FEngineOptions& Options);

    /**
     * Stops the engine. With `bNotify`, the next Poll() ends all jobs with SOTTO_ERROR_CANCELLED; without it,
     * no handler is called any more. A second call has no effect.
     */
    void Stop(const std::string& Reason, bool bNotify);

    bool IsRunning() const { return Engine.IsRunning(); }
    /** Returns why the host does not run. Empty: it runs. */
    const std::string& InertReason() const { return Reason; }

    /** Sets the model of turns that name none: its id and its file. An empty file: the id names the file. */
    void SetDefaultModel(const std::string& Id, const std::string& Path);

    /** Loads a model, or joins the load that runs. A model that failed to load is tried again. */
    FJobId LoadModel(const std::string& Id, const std::string& Path, FHandlers Handlers);

    /** Returns true if a model is loaded. */
    bool IsModelReady(const std::string& Id) const;

    /** Asks for an answer. Waits for the model, loading it if necessary, without blocking. */
    FJobId Say(const FTurn& Turn, FHandlers Handlers);

    /** Reads a conversation: `Json` of the result is a JSON array of messages. */
    FJobId ReadConversation(const std::string& Session, FHandlers Handlers);

    /** Sets what a conversation starts with the next time that it is opened; closes it if it is open. */
    void RestoreConversation(const std::string& Session, const std::string& Messages);

    /** Closes a conversation and forgets its messages. */
    void CloseConversation(const std::string& Session);

    /** Sets the system message of a conversation from its next turn on, if it is open. Empty: removes it. */
    void SetSystem(const std::string& Session, const std::string& System);

    /** Returns the names of the open conversations, sorted. */
    std::vector<std::string> OpenConversations() const;

    /** Returns the restored conversations that are not open, with their messages: no turn has opened them. */
    std::map<std::string, std::string> UnopenedConversations() const;

    /** Cancels a job. Its Done handler follows with SOTTO_ERROR_CANCELLED. Unknown ids have no effect. */
    void Cancel(FJobId Job);

    /** Cancels a job and calls none of its handlers any more. */
    void Abandon(FJobId Job);

    void SetJobTps(FJobId Job, float Tps);

    /** Delivers the events and failures that were queued when the call began. Returns their number. */
    size_t Poll();

    size_t LiveJobs() const { return Jobs.size(); }
    FEngine& GetEngine() { return Engine; }

private:
    struct FJob
    {
        FJob(FJobId Id, FHandlers Handlers) : Answer(Id, std::move(Handlers)) {}

        FAnswer Answer;
        FTurn Turn;
        sotto_request Request = 0; // 0: waits for its model, or ended
        bool bCancelled = false;   // while it waited for its model
    };
    using FJobPtr = std::shared_ptr<FJob>; // a handler may end its own job

    struct FModel
    {
        std::string Path;
        sotto_request Request = 0; // of the running load
        bool bReady = false;
        std::vector<FJobId> Loads;   // jobs that wait for the load itself
        std::vector<FJobId> Waiting; // turns that wait for the model
    };

    struct FFailure
    {
        FJobId Job;
        sotto_status Status;
        std::string Error;
    };

    FJobId Add(FHandlers Handlers);
    void Fail(FJobId Job, sotto_status Status, const std::string& Error);
    void Track(FJobId Job, const FSubmitted& Submitted);
    void StartLoad(const std::string& Id, FModel& Model);
    void EndLoad(const std::string& Id, const FEvent& Event);
    void Submit(FJobId Job);
    FSubmitted Open(const FTurn& Turn);
    void Route(const FEvent& Event);
    void RouteLoad(const std::string& Id, const FEvent& Event);
    void EndOpening(const FEvent& Event);
    void End(FJobId Job, const FFailure& Failure);

    FEngine Engine;
    std::string Reason = "the engine was not started";
    std::string DefaultModel;
    FJobId NextId = 1;
    uint64_t Generation = 0; // counts stops: a handler that stops the host ends the running Poll()
    std::unordered_map<FJobId, FJobPtr> Jobs;
    std::unordered_map<sotto_request, FJobId> Requests;
    std::map<std::string, FModel> Models;
    std::unordered_map<sotto_request, std::string> Loading; // load request -> model
    std::unordered_map<sotto_request, std::string> Opening; // open request -> session
    std::unordered_map<std::string, std::string> Sessions;  // open ones -> system message that was set last
    std::map<std::string, std::string> Restored;            // session -> messages
    std::vector<FFailure> Failures;
    std::vector<FEvent> Taken;
};

} // namespace SottoCore
