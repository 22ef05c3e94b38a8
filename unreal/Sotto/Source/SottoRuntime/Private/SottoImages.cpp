#include "SottoImages.h"

#include <iterator>
#include <string>
#include <utility>

#include "Async/Async.h"
#include "Core/Json.h"
#include "Engine/Texture2D.h"
#include "ImageUtils.h"
#include "Modules/ModuleManager.h"
#include "SottoConvert.h"
#include "SottoLibrary.h"
#include "SottoPaths.h"

static std::string_view SottoToView(const TArray<uint8>& Bytes)
{
    return {reinterpret_cast<const char*>(Bytes.GetData()), static_cast<size_t>(Bytes.Num())};
}

static SottoCore::FTurn SottoToImageTurn(const FString& Model, SottoCore::FJsonObject& Body)
{
    SottoCore::FTurn Turn;
    Turn.Model = SottoToUtf8(Model);
    Turn.Path = SottoToUtf8(FSottoPaths::ResolveModel(Model));
    Turn.Fields = Body.Text("response_format", "data").Write();
    return Turn;
}

SottoCore::FTurn FSottoImages::ToTurn(const FSottoImageRequest& Request)
{
    SottoCore::FJsonObject Body(FSottoLibrary::Get().Functions());
    Body.Text("prompt", SottoToUtf8(Request.Prompt)).Integer("seed", Request.Seed);
    if (!Request.NegativePrompt.IsEmpty())
    {
        Body.Text("negative_prompt", SottoToUtf8(Request.NegativePrompt));
    }
    if (Request.Width != 0 || Request.Height != 0)
    {
        Body.Text("size", std::to_string(Request.Width) + "x" + std::to_string(Request.Height));
    }
    if (Request.Steps != 0)
    {
        Body.Integer("steps", Request.Steps);
    }
    if (Request.GuidanceScale >= 0)
    {
        Body.Number("guidance_scale", static_cast<double>(Request.GuidanceScale));
    }
    if (Request.Previews != 0)
    {
        Body.Integer("partial_images", Request.Previews);
    }
    if (!Request.StartImage.IsEmpty())
    {
        Body.Text("image", SottoCore::WriteBase64(SottoToView(Request.StartImage)));
        Body.Number("strength", static_cast<double>(Request.Strength));
    }
    SottoCore::FTurn Turn = SottoToImageTurn(Request.Model, Body);
    Turn.Op = SOTTO_OP_IMAGE_GENERATE;
    Turn.Priority = static_cast<sotto_priority>(Request.Priority) - 1; // the enumerators begin at background
    return Turn;
}

SottoCore::FTurn FSottoImages::ToTurn(const FString& Model, const TArray<uint8>& File)
{
    SottoCore::FJsonObject Body(FSottoLibrary::Get().Functions());
    Body.Text("image", SottoCore::WriteBase64(SottoToView(File)));
    SottoCore::FTurn Turn = SottoToImageTurn(Model, Body);
    Turn.Op = SOTTO_OP_IMAGE_MATTE;
    Turn.Priority = SOTTO_PRIORITY_BACKGROUND;
    return Turn;
}

SottoCore::FHandlers FSottoImages::Listen(const FSottoImageHandlers& Handlers)
{
    FModuleManager::LoadModuleChecked<IModuleInterface>("ImageWrapper"); // workers cannot load it
    SottoCore::FHandlers Converted;
    Converted.Progress = [Delegate = Handlers.Progress](SottoCore::FJobId Id, float Fraction)
    { Delegate.ExecuteIfBound(Id, Fraction); };
    Converted.Data = [this, Handlers](SottoCore::FJobId Id, std::string_view File, std::string_view Info)
    { Receive(Id, Handlers, File, Info); };
    Converted.Done = [this, Handlers](const SottoCore::FResult& Result) { Finish(Handlers, Result); };
    return Converted;
}

void FSottoImages::Receive(
    int64 Id, const FSottoImageHandlers& Handlers, std::string_view File, std::string_view Info
)
{
    FRequest& Request = Pending[Id];
    Request.Handlers = Handlers;
    const TSharedPtr<FDecode> Decoding = Decode(Id, File, Info);
    (Decoding->Result.bPreview ? Request.Preview : Request.Image) = Decoding;
}

void FSottoImages::Finish(const FSottoImageHandlers& Handlers, const SottoCore::FResult& Result)
{
    const auto Found = Pending.find(Result.Id);
    if (Result.Status >= 0 && Found != Pending.end() && Found->second.Image.IsValid())
    {
        Found->second.bDone = true;
        return;
    }
    Pending.erase(Result.Id);
    FSottoImage None;
    None.Id = Result.Id;
    None.Status = Result.Status < 0 ? SottoToStatus(Result.Status) : ESottoStatus::Inference;
    None.Error = Result.Status < 0 ? SottoToString(Result.Error) : TEXT("the backend's answer has no image");
    Handlers.Ended.ExecuteIfBound(None);
}

/** Begins to decode a file on a worker thread. */
TSharedPtr<FSottoImages::FDecode> FSottoImages::Decode(int64 Id, std::string_view File, std::string_view Info)
{
    const TSharedPtr<FDecode> Made = MakeShared<FDecode>();
    FSottoImage& Result = Made->Result;
    Result.Id = Id;
    Result.File.Append(reinterpret_cast<const uint8*>(File.data()), static_cast<int32>(File.size()));
    SottoCore::FJsonReader Reader(Info);
    std::string Name;
    for (Reader.BeginObject(); Reader.NextField(Name);)
    {
        if (Name == "seed" && Reader.Peek() != 'n')
        {
            Result.Seed = Reader.Integer();
        }
        else if (Name == "partial")
        {
            Result.bPreview = Reader.Flag();
        }
        else
        {
            Reader.Raw();
        }
    }
    const auto Work = [Made]()
    {
        const TArray<uint8>& Bytes = Made->Result.File;
        Made->bValid = FImageUtils::DecompressImage(Bytes.GetData(), Bytes.Num(), Made->Pixels);
        Made->bReady = true;
    };
    FSottoLibrary::Get().Keep(Async(EAsyncExecution::ThreadPool, Work));
    return Made;
}

FSottoImage FSottoImages::Upload(const FDecode& Decoded)
{
    FSottoImage Result = Decoded.Result;
    Result.Texture = Decoded.bValid ? FImageUtils::CreateTexture2DFromImage(Decoded.Pixels) : nullptr;
    if (Result.Texture == nullptr)
    {
        Result.Status = ESottoStatus::Inference;
        Result.Error = TEXT("invalid image of the backend: expected a PNG file");
        return Result;
    }
    Result.Width = Decoded.Pixels.SizeX;
    Result.Height = Decoded.Pixels.SizeY;
    return Result;
}

int32 FSottoImages::Cancel()
{
    FSottoImage None;
    None.Status = ESottoStatus::Cancelled;
    None.Error = std::exchange(Stopped, FString());
    const std::map<int64, FRequest> Ended = std::exchange(Pending, {});
    for (const auto& [Id, Request] : Ended)
    {
        None.Id = Id;
        Request.Handlers.Ended.ExecuteIfBound(None);
    }
    return static_cast<int32>(Ended.size());
}

int32 FSottoImages::Deliver()
{
    if (!Stopped.IsEmpty())
    {
        return Cancel();
    }
    for (auto Found = Pending.begin(); Found != Pending.end(); ++Found)
    {
        FRequest& Request = Found->second;
        if (Request.bDone && Request.Image->bReady) // a preview that is not shown yet is dropped
        {
            const FRequest Ended = std::move(Request);
            Pending.erase(Found);
            Ended.Handlers.Ended.ExecuteIfBound(Upload(*Ended.Image)); // which may stop the engine
            return 1;
        }
        if (!Request.bDone && Request.Preview.IsValid() && Request.Preview->bReady)
        {
            const TSharedPtr<FDecode> Preview = std::exchange(Request.Preview, nullptr);
            const FSottoImageDelegate Delegate = Request.Handlers.Preview;
            if (Preview->bValid && Delegate.IsBound())
            {
                Delegate.ExecuteIfBound(Upload(*Preview));
                return 1;
            }
        }
    }
    return 0;
}

void FSottoImages::Stop(const FString& Why, bool bNotify)
{
    Stopped = bNotify ? Why : FString();
    for (auto Found = Pending.begin(); Found != Pending.end();)
    {
        // The host ends the others.
        Found = bNotify && Found->second.bDone ? std::next(Found) : Pending.erase(Found);
    }
}
