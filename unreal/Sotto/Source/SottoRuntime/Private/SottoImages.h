#pragma once

#include <atomic>
#include <map>

#include "Core/Answer.h"
#include "ImageCore.h"
#include "SottoImage.h"

/**
 * The images of an engine on their way to textures.
 *
 * A worker thread decodes each file. Deliver() then makes at most one texture, so that a frame has the copy
 * of one image at most: 1 MB for 512 x 512.
 */
class FSottoImages
{
public:
    static SottoCore::FTurn ToTurn(const FSottoImageRequest& Request);
    static SottoCore::FTurn ToTurn(const FString& Model, const TArray<uint8>& File);

    /** Returns what the host calls for a request, until Stop(). */
    SottoCore::FHandlers Listen(const FSottoImageHandlers& Handlers);

    /** Makes a texture and calls its delegate, if one is decoded. Returns the number of calls. */
    int32 Deliver();

    /** Drops all images. With `bNotify`, the next Deliver() ends those whose request has ended well. */
    void Stop(const FString& Why, bool bNotify);

    /** Calls no delegate of a request any more. */
    void Abandon(int64 Request) { Pending.erase(Request); }

private:
    struct FDecode
    {
        FSottoImage Result;
        FImage Pixels;
        bool bValid = false;
        std::atomic<bool> bReady = false;
    };

    struct FRequest
    {
        FSottoImageHandlers Handlers;
        TSharedPtr<FDecode> Preview; // the latest one
        TSharedPtr<FDecode> Image;
        bool bDone = false; // the host has no more events of it
    };

    void Receive(int64 Id, const FSottoImageHandlers& Handlers, std::string_view File, std::string_view Info);
    void Finish(const FSottoImageHandlers& Handlers, const SottoCore::FResult& Result);
    int32 Cancel();
    static TSharedPtr<FDecode> Decode(int64 Id, std::string_view File, std::string_view Info);
    static FSottoImage Upload(const FDecode& Decoded);

    std::map<int64, FRequest> Pending; // those that have an image
    FString Stopped;                   // why they are to be cancelled; empty: they are not
};
