#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "Core/Answer.h"
#include "Core/Conversations.h"

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

    /** Sets why the host does not run, unless it runs. */
    void Refuse(const std::string& Why) { Reason = IsRunning() ? Reason : Why; }

    /** Sets the model of turns that name none: its id and its file. An empty file: the id names the file. */
    void SetDefaultModel(const std::string& Id, const std::string& Path);

    /** Loads a model, or joins the load that runs. A model that failed to load is tried again. */
    FJobId LoadModel(const std::string& Id, const std::string& Path, FHandlers Handlers);

    /** Returns true if a model is loaded. */
    bool IsModelReady(const std::string& Id) const;

    /** Asks for an answer. Waits for the model, loading it if necessary, without blocking. */
    FJobId Say(const FTurn& Turn, FHandlers Handlers);

    /**
     * As Say(), but calls `Prepare` once the model is loaded, and waits for Continue() before it submits the
     * turn.
     */
    FJobId SayPrepared(const FTurn& Turn, FHandlers Handlers, std::function<void(FJobId)> Prepare);

    /** Submits a turn of SayPrepared(), with another system message. No effect if the turn has ended. */
    void Continue(FJobId Job, const std::string& System);

    /** Reads a conversation: `Json` of the result is a JSON array of messages. */
    FJobId ReadConversation(const std::string& Session, FHandlers Handlers);

    /**
     * Saves all conversations to a file, those that were restored and not continued as well. `Json` of the
     * result has their counts. Replaces the file atomically.
     */
    FJobId SaveGame(const std::string& Path, FHandlers Handlers);

    /** Restores the conversations of a file of SaveGame(). Turns that are asked meanwhile wait for the end.
     */
    FJobId RestoreGame(const std::string& Path, FHandlers Handlers);

    FConversations& Conversations() { return Talks; }
    const FConversations& Conversations() const { return Talks; }

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
        std::function<void(FJobId)> Prepare; // called before the turn is submitted; empty: not or no more
        sotto_request Request = 0;           // 0: waits for its model, or ended
        bool bCancelled = false;             // while it waited for its model
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

    /** A restore of a save game, then the list of the sessions that the engine has afterwards. */
    struct FRestore
    {
        FJobId Job;
        FEvent Done; // of the restore, while the list is read
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
    void Begin(FJobId Job);
    void Submit(FJobId Job);
    void Route(const FEvent& Event);
    void RouteLoad(const std::string& Id, const FEvent& Event);
    void EndOpening(const FEvent& Event);
    void RouteRestore(const FEvent& Event);
    void EndRestore(FJobId Job, const FEvent& Event);
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
    FConversations Talks{Engine};
    std::unordered_map<sotto_request, FRestore> Restores; // by the running request
    std::vector<FJobId> Held;                             // turns that wait for restores
    std::vector<FFailure> Failures;
    std::vector<FEvent> Taken;
};

} // namespace SottoCore
