#pragma once

#include "CoreMinimal.h"
#include "SottoImage.h"
#include "SottoTypes.h"

struct sotto_engine;
class FSottoImages;

namespace SottoCore
{
class FHost;
}

/** Prepares a question before it is submitted: id of the request. */
DECLARE_DELEGATE_OneParam(FSottoPrepareDelegate, int64);

/** Configuration of an engine. Empty and zero fields take the library's defaults. */
struct FSottoEngineOptions
{
    /** Device that models run on: empty or "cpu", "auto", "vulkan", "cuda". */
    FString Device;
    ESottoMode Mode = ESottoMode::Balance;
    float TargetTps = 0.0f;
    /** Bytes for all models together. 0: no limit. */
    int64 MemoryBudget = 0;
    /** Guardrails, as USottoSettings::Guardrails has them. If they are invalid, no engine starts. */
    FString Guardrails;
    /** Shares the renderer's graphics card with the models. */
    bool bShareGpu = false;
};

/**
 * An engine for C++ code, with models, conversations and answers.
 *
 * USottoSubsystem owns one for each game instance; tools may create their own. Every request ends with one
 * call of FSottoHandlers::Ended, in a later Tick(), also if it could not be submitted. Game thread only:
 * a call from another thread is logged and has no effect.
 */
class SOTTORUNTIME_API FSottoEngineHost
{
public:
    FSottoEngineHost();
    ~FSottoEngineHost();
    FSottoEngineHost(const FSottoEngineHost&) = delete;
    FSottoEngineHost& operator=(const FSottoEngineHost&) = delete;

    /** Starts the engine. Returns false on failure: see InertReason(). */
    bool Start(const FSottoEngineOptions& Options);

    /**
     * Stops the engine within about 100 ms. A second call has no effect.
     *
     * @param Why      The reason that InertReason() returns from now on.
     * @param bNotify  The next Tick() ends all requests with ESottoStatus::Cancelled.
     */
    void Stop(const FString& Why, bool bNotify);

    bool IsRunning() const;
    /** Returns why the engine does not run. Empty: it runs. */
    FString InertReason() const;

    /** Delivers what was queued when the call began. Returns the number of events. */
    int32 Tick();
    void BeginFrame(double PeriodMs);
    void EndFrame();

    /** Sets the model of turns that name none. Resolves `Model` as FSottoPaths::ResolveModel() does. */
    void SetDefaultModel(const FString& Model);
    /** Loads a model. Returns the id of the request. */
    int64 LoadModel(const FString& Model, const FSottoHandlers& Handlers);
    bool IsModelReady(const FString& Model) const;

    /** Asks for an answer; waits for the model without blocking. Returns the id of the request. */
    int64 Say(const FSottoTurn& Turn, const FSottoHandlers& Handlers);
    /**
     * As Say(), but executes `Prepare` with the id of the request once the model is loaded, and waits for
     * Continue() before it submits the question.
     */
    int64
    SayPrepared(const FSottoTurn& Turn, const FSottoHandlers& Handlers, const FSottoPrepareDelegate& Prepare);
    /** Submits a question of SayPrepared(), with a system message. No effect if the request has ended. */
    void Continue(int64 Request, const FString& System);
    /** Generates an image; waits for the model without blocking. Returns the id of the request. */
    int64 GenerateImage(const FSottoImageRequest& Request, const FSottoImageHandlers& Handlers);
    /**
     * Removes the background of an image: same size, with alpha. Returns the id of the request.
     *
     * @param Model  A model that segments images.
     * @param File   A PNG, JPEG or WebP file.
     */
    int64
    RemoveBackground(const FString& Model, const TArray<uint8>& File, const FSottoImageHandlers& Handlers);
    /** Cancels a request: Ended follows with ESottoStatus::Cancelled. Unknown ids have no effect. */
    void Cancel(int64 Request);
    /** Cancels a request and calls none of its delegates any more. */
    void Abandon(int64 Request);
    void SetRequestTps(int64 Request, float TargetTps);

    /** Reads a conversation: the text of the answer is a JSON array of messages. */
    int64 ReadConversation(const FString& Conversation, const FSottoHandlers& Handlers);
    void RestoreConversation(const FString& Conversation, const FString& Messages);
    void CloseConversation(const FString& Conversation);
    void SetSystem(const FString& Conversation, const FString& System);
    /**
     * Drops the last turns of a conversation: a turn is what was said, with its answer. Cancel an answer in
     * progress first. No effect if the conversation has fewer turns. Returns false if it is not open.
     */
    bool RewindConversation(const FString& Conversation, int32 Turns = 1);
    TArray<FString> OpenConversations() const;
    /** Returns the restored conversations that are not open: no turn has continued them yet. */
    TArray<FSottoConversation> UnopenedConversations() const;

    /**
     * Saves all conversations to a file, those that were restored and not continued as well. The text of the
     * answer is JSON; see FSottoSavedGame.
     *
     * Replaces the file atomically. An answer in progress is not part of it. A relative path is below the
     * project's Saved folder.
     */
    int64 SaveGame(const FString& Path, const FSottoHandlers& Handlers);
    /**
     * Restores the conversations of a file of SaveGame(); load the models before. Nothing changes unless the
     * whole file is valid. Open conversations of the same names are replaced, others stay. What is said
     * meanwhile waits for the end.
     */
    int64 RestoreGame(const FString& Path, const FSottoHandlers& Handlers);

    void SetMode(ESottoMode Mode);
    void SetMemoryBudget(int64 Bytes);
    void SetTargetTps(float TargetTps);
    FSottoFigures Figures() const;
    /** Returns the library's handle, for worker threads: calls with a stopped engine's handle fail. Or null.
     */
    sotto_engine* Handle() const;
    /** Describes the engine as JSON: version, device, modules, graphics card. May wait for the modules. */
    FString Describe() const;

    /** Starts sharing the graphics card if the options ask for it and the renderer is up. */
    void HandleEngineReady();

private:
    void LogRefusal() const;

    TUniquePtr<FSottoImages> Images; // the host's jobs refer to it
    TUniquePtr<SottoCore::FHost> Host;
    bool bShareGpu = false; // and it is not shared yet
};
