#pragma once

#include "CoreMinimal.h"

#include "SottoTypes.generated.h"

/** Result of a request. All values except Ok are failures. */
UENUM(BlueprintType)
enum class ESottoStatus : uint8
{
    Ok,
    Argument,
    Unsupported,
    Memory,
    Budget,
    State,
    Internal,
    NotFound,
    Model,
    Inference,
    Cancelled,
    Busy,
    Device,
    /** A guardrail blocked the request's text. */
    Blocked
};

/** Priority between models and the game's frames when cores are short. */
UENUM(BlueprintType)
enum class ESottoMode : uint8
{
    Balance,
    PrioritizeCompute,
    PrioritizeGraphics
};

/** Scheduling priority of a request. */
UENUM(BlueprintType)
enum class ESottoPriority : uint8
{
    Background,
    Normal,
    Foreground
};

/** Why an answer ended. */
UENUM(BlueprintType)
enum class ESottoFinish : uint8
{
    /** The answer failed, or the request has no answer. */
    None,
    /** The model ended the answer. */
    Stop,
    /** The maximum of tokens is reached, or the context is full. */
    Length,
    /** The model calls tools. */
    ToolCalls,
    /** A guardrail blocked the rest of the answer. */
    ContentFilter
};

/** A complete answer, or the reason of its failure. */
USTRUCT(BlueprintType)
struct SOTTORUNTIME_API FSottoAnswer
{
    GENERATED_BODY()

    /** Id that the call returned which asked for the answer. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    int64 Id = 0;

    /** The whole text. If the answer failed: what was generated until then. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    FString Text;

    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    ESottoStatus Status = ESottoStatus::Ok;

    /** Why the answer failed, one line of English. Empty if the answer is complete. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    FString Error;

    /** Why the answer ended. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    ESottoFinish Finish = ESottoFinish::None;

    /** Number of generated tokens. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    int32 Tokens = 0;
};

/** One question to a model. Empty and zero fields take their defaults. */
USTRUCT(BlueprintType)
struct SOTTORUNTIME_API FSottoTurn
{
    GENERATED_BODY()

    /** What the player says. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    FString Text;

    /** Conversation that the question belongs to, at most 128 bytes of UTF-8. Empty: a single question. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    FString Conversation;

    /** System message, such as a character sheet. Replaces the conversation's. Empty: the conversation's
     * stays.
     */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto", meta = (MultiLine = true))
    FString System;

    /** Model. Empty: the model of the project settings. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    FString Model;

    /** Further fields of the request as a JSON object, such as {"stop": ["\n"]}. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    FString Fields;

    /** Maximum tokens of the answer. 0: no limit except the context. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto", meta = (ClampMin = "0"))
    int32 MaxTokens = 0;

    /** Sampling temperature. Below 0: the model's default. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    float Temperature = -1.0f;

    /** Pace in tokens per second. 0: the pace of the project settings. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto", meta = (ClampMin = "0"))
    float TargetTps = 0.0f;

    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    ESottoPriority Priority = ESottoPriority::Normal;
};

/** A conversation of a saved game. */
USTRUCT(BlueprintType)
struct SOTTORUNTIME_API FSottoConversation
{
    GENERATED_BODY()

    /** Name of the conversation. Upper and lower case differ. */
    UPROPERTY(SaveGame, BlueprintReadOnly, Category = "Sotto")
    FString Name;

    /** Messages of the conversation: a JSON array in OpenAI's schema. */
    UPROPERTY(SaveGame, BlueprintReadOnly, Category = "Sotto")
    FString Messages;
};

/** Figures of an engine, for overlays. */
USTRUCT(BlueprintType)
struct SOTTORUNTIME_API FSottoFigures
{
    GENERATED_BODY()

    /** Requests that have not ended. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    int32 Live = 0;

    /** Answers that wait for a slot of their model. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    int32 Waiting = 0;

    /** Tokens generated in the last second, by all streams. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    float TokensPerSecond = 0.0f;

    /** Mean time to first token, in ms. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    float TimeToFirstTokenMs = 0.0f;

    /** p95 of the game's work per frame, in ms. 0: no frames were reported. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    float FrameP95Ms = 0.0f;

    /** Frames that the game reported. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    int64 Frames = 0;

    /** Bytes in use by all models. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    int64 BytesInUse = 0;

    /** Ceiling of BytesInUse. 0: no limit. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    int64 MemoryBudget = 0;
};

/** Receives a part of an answer, or a sentence: id of the answer, text. */
DECLARE_DELEGATE_TwoParams(FSottoTextDelegate, int64, const FString&);
/** Receives the progress of a model load: id of the load, 0 to 1. */
DECLARE_DELEGATE_TwoParams(FSottoProgressDelegate, int64, float);
/** Receives the end of a request: a complete answer, or the reason of the failure. */
DECLARE_DELEGATE_OneParam(FSottoAnswerDelegate, const FSottoAnswer&);

/**
 * What a C++ caller wants to learn of a request. All delegates run on the game thread.
 *
 * Bind with BindUObject or BindWeakLambda: a delegate whose object is gone is not called.
 */
struct FSottoHandlers
{
    FSottoTextDelegate Partial;
    FSottoTextDelegate Sentence;
    FSottoProgressDelegate Progress;
    /** Exactly once, for success and failure, unless the request was abandoned. */
    FSottoAnswerDelegate Ended;
};
