#include "SottoGuard.h"

#include "Core/Guard.h"
#include "SottoConvert.h"
#include "SottoLibrary.h"
#include "SottoLog.h"
#include "SottoPaths.h"
#include "UObject/UObjectGlobals.h"

static FSottoVerdict SottoToVerdict(const SottoCore::FVerdict& Verdict)
{
    FSottoVerdict Converted;
    Converted.Action = static_cast<ESottoGuardAction>(Verdict.Action);
    Converted.bAllowed = Verdict.bAllowed;
    Converted.Checker = SottoToString(Verdict.Checker);
    Converted.Category = SottoToString(Verdict.Category);
    Converted.Reason = SottoToString(Verdict.Reason);
    Converted.Rewritten = SottoToString(Verdict.Rewritten);
    Converted.Score = static_cast<float>(Verdict.Score);
    Converted.Error = SottoToString(Verdict.Error);
    return Converted;
}

USottoGuard* USottoGuard::CreateGuard(const FString& Config, FString& Error)
{
    Error.Empty();
    FString Json;
    if (!FSottoPaths::ReadConfig(Config, Json, Error))
    {
        return nullptr;
    }
    const SottoCore::FApi& Api = FSottoLibrary::Get().Functions();
    const TSharedPtr<SottoCore::FGuard> Made = MakeShared<SottoCore::FGuard>(Api);
    std::string Reason;
    if (!Made->Create(SottoToUtf8(Json), Reason))
    {
        Error = SottoToString(Reason);
        return nullptr;
    }
    USottoGuard* Object = NewObject<USottoGuard>();
    Object->Guard = Made;
    FSottoLibrary::Get().OnUnload().AddUObject(Object, &USottoGuard::Close);
    return Object;
}

FSottoVerdict USottoGuard::Check(ESottoGuardStage Stage, const FString& Text) const
{
    const SottoCore::FGuard None(FSottoLibrary::Get().Functions());
    const SottoCore::FGuard& Used = Guard.IsValid() ? *Guard : None;
    return SottoToVerdict(Used.Check(static_cast<sotto_guard_stage>(Stage), SottoToUtf8(Text)));
}

USottoGuardStream* USottoGuard::OpenStream(ESottoGuardStage Stage)
{
    const SottoCore::FApi& Api = FSottoLibrary::Get().Functions();
    const TSharedPtr<SottoCore::FGuardStream> Made = MakeShared<SottoCore::FGuardStream>(Api);
    std::string Reason = "the guard was not created by Create Guard";
    if (!Guard.IsValid() || !Made->Open(*Guard, static_cast<sotto_guard_stage>(Stage), Reason))
    {
        UE_LOG(LogSotto, Error, TEXT("no text is checked: %s"), *SottoToString(Reason));
        return nullptr;
    }
    USottoGuardStream* Object = NewObject<USottoGuardStream>();
    Object->Stream = Made;
    FSottoLibrary::Get().OnUnload().AddUObject(Object, &USottoGuardStream::Close);
    return Object;
}

void USottoGuard::Close()
{
    if (Guard.IsValid())
    {
        Guard->Close();
    }
}

void USottoGuard::BeginDestroy()
{
    Close();
    Super::BeginDestroy();
}

FString USottoGuardStream::Feed(const FString& Piece)
{
    if (!Stream.IsValid())
    {
        return FString();
    }
    const SottoCore::FReleased Released = Stream->Feed(SottoToUtf8(Piece));
    bBlocked = Released.bBlocked;
    return SottoToString(Released.Text);
}

FString USottoGuardStream::Finish()
{
    if (!Stream.IsValid())
    {
        return FString();
    }
    const SottoCore::FReleased Released = Stream->Finish();
    bBlocked = Released.bBlocked;
    return SottoToString(Released.Text);
}

FSottoVerdict USottoGuardStream::GetVerdict() const
{
    const SottoCore::FGuardStream None(FSottoLibrary::Get().Functions());
    return SottoToVerdict((Stream.IsValid() ? *Stream : None).Verdict());
}

void USottoGuardStream::Close()
{
    if (Stream.IsValid())
    {
        Stream->Close();
    }
}

void USottoGuardStream::BeginDestroy()
{
    Close();
    Super::BeginDestroy();
}
