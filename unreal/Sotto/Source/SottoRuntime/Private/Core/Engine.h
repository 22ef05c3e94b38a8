#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "Core/Request.h"

namespace SottoCore
{

/** Configuration of an engine. Empty and zero fields take the library's defaults. */
struct FEngineOptions
{
    std::string ModuleDir;
    std::string Device;
    sotto_mode Mode = SOTTO_MODE_BALANCE;
    float TargetTps = 0;
    uint64_t MemoryBudget = 0;
    std::string Guardrails; // configuration of a guard as JSON; empty: none
    const sotto_log_sink* Log = nullptr;
};

/** An event whose texts and data are copies. */
struct FEvent
{
    sotto_event_kind Kind = 0;
    sotto_request Request = 0;
    std::string Text;
    std::string Json;
    std::string Error;
    std::string Data; // bytes, no text
    sotto_status Status = SOTTO_OK;
    sotto_finish Finish = SOTTO_FINISH_NONE;
    uint32_t Tokens = 0;
    float Progress = 0;
};

/** Result of a call that submits a request: its id, or 0 with a status and a message. */
struct FSubmitted
{
    sotto_request Request = 0;
    sotto_status Status = SOTTO_OK;
    std::string Error;
};

/** Owns an engine of the library. All calls but Handle() belong on one thread. */
class FEngine
{
public:
    explicit FEngine(const FApi& InApi) : Api(InApi) {}
    ~FEngine() { Stop(); }
    FEngine(const FEngine&) = delete;
    FEngine& operator=(const FEngine&) = delete;

    /** Creates the engine. Returns false and sets `Reason` on failure. */
    bool Start(const FEngineOptions& Options, std::string& Reason);

    /** Destroys the engine: at most about 100 ms. A second call has no effect. */
    void Stop();

    bool IsRunning() const { return Engine != nullptr; }
    sotto_engine* Handle() const { return Engine; }
    const FApi& Functions() const { return Api; }

    FSubmitted LoadModel(std::string_view Id, std::string_view Path, std::string_view Options);
    /** Opens the session of a turn: with its system message, or with earlier messages if there are any. */
    FSubmitted OpenSession(const FTurn& Turn, std::string_view Messages);
    FSubmitted ReadSession(std::string_view Session);
    /** Saves all conversations to a file. */
    FSubmitted SaveGame(std::string_view Path);
    /** Restores the conversations of a file of SaveGame(). */
    FSubmitted RestoreGame(std::string_view Path);
    /** Returns false if the change could not be submitted. */
    bool SetSystem(std::string_view Session, std::string_view System);
    /** Drops the last turns of a session. Returns false if the change could not be submitted. */
    bool Rewind(std::string_view Session, uint32_t Turns);
    void CloseSession(std::string_view Session);
    /** Submits a turn to its session, which must be open, or a single question or operation without session.
     */
    FSubmitted Say(const FTurn& Turn);
    void Cancel(sotto_request Request);
    void SetRequestTps(sotto_request Request, float Tps);

    void SetMode(sotto_mode Mode);
    void SetMemoryBudget(uint64_t Bytes);
    void SetTargetTps(float Tps);
    void BeginFrame(uint64_t PeriodNs);
    void EndFrame(float GpuMs);
    sotto_stats Stats() const;
    std::string Describe() const;

    /**
     * Takes the events that are queued now, copying their texts. No handler runs meanwhile, so that requests
     * which handlers submit are answered in a later call. Takes at most kMaxTaken events.
     */
    void Take(std::vector<FEvent>& Events);

    static constexpr size_t kMaxTaken = 4096;

private:
    FSubmitted Submitted(sotto_status Status, sotto_request Request) const;

    const FApi& Api;
    sotto_engine* Engine = nullptr;
};

} // namespace SottoCore
