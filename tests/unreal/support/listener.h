#pragma once

#include "CoreMinimal.h"
#include "Engine/Texture2D.h"
#include "GameFramework/Actor.h"
#include "SottoCharacterComponent.h"
#include "SottoGameAction.h"
#include "SottoImageAction.h"
#include "SottoStoreAction.h"
#include "SottoTypes.h"

#include "listener.generated.h"

class USottoSaveGame;

/** Receives everything that a Blueprint can bind. */
UCLASS()
class UTestListener : public UObject {
    GENERATED_BODY()

public:
    UFUNCTION()
    void HandlePartial(int64, const FString& Part) {
        Text += Part;
        ++Partials;
        if (Victim != nullptr) {
            Victim->Destroy();
            Victim = nullptr;
        }
    }
    UFUNCTION()
    void HandleSentence(int64, const FString& Sentence) { Sentences.Add(Sentence); }
    UFUNCTION()
    void HandleDone(const FSottoAnswer& Answer) { Done.Add(Answer); }
    UFUNCTION()
    void HandleFailed(const FSottoAnswer& Answer) {
        Failed.Add(Answer);
        if (Again != nullptr) {
            Again->Say(TEXT("And now?"));
        }
    }
    UFUNCTION()
    void HandlePinPartial(int64 Request, const FString& Part, ESottoStatus) { HandlePartial(Request, Part); }
    UFUNCTION()
    void HandlePinSentence(int64 Request, const FString& Part, ESottoStatus) {
        HandleSentence(Request, Part);
    }
    UFUNCTION()
    void HandlePinDone(int64 Request, const FString& Whole, ESottoStatus Status) {
        Keep(Done, Request, Whole, Status);
    }
    UFUNCTION()
    void HandlePinFailed(int64 Request, const FString& Error, ESottoStatus Status) {
        Keep(Failed, Request, Error, Status);
    }
    UFUNCTION()
    void HandleProgress(float, ESottoStatus, const FString&) { ++Partials; }
    UFUNCTION()
    void HandleReady(float, ESottoStatus Status, const FString& Error) { Keep(Done, 0, Error, Status); }
    UFUNCTION()
    void HandleLoadFailed(float, ESottoStatus Status, const FString& Error) {
        Keep(Failed, 0, Error, Status);
    }
    UFUNCTION()
    void HandleStored(USottoSaveGame*, const TArray<FString>& NotStored) {
        Missing = NotStored;
        bStored = true;
    }

    UFUNCTION()
    void HandleGameProgress(float, const FSottoSavedGame&) { ++Partials; }
    UFUNCTION()
    void HandleGame(float, const FSottoSavedGame& Saved) { Games.Add(Saved); }

    UFUNCTION()
    void HandleImageProgress(float Fraction, const FSottoImage&) { Fractions.Add(Fraction); }
    UFUNCTION()
    void HandlePreview(float, const FSottoImage& Image) {
        Previews.Add(Image);
        Textures.Add(Image.Texture);
    }
    UFUNCTION()
    void HandleImage(float, const FSottoImage& Image) {
        Images.Add(Image);
        Textures.Add(Image.Texture);
    }

    UFUNCTION()
    void HandleStoreDone(const FSottoStoreResult& Result) { StoreDone.Add(Result); }
    UFUNCTION()
    void HandleStoreFailed(const FSottoStoreResult& Result) { StoreFailed.Add(Result); }

    /** Binds all events of a character. */
    void Listen(USottoCharacterComponent& Character) {
        Character.OnPartial.AddDynamic(this, &UTestListener::HandlePartial);
        Character.OnSentence.AddDynamic(this, &UTestListener::HandleSentence);
        Character.OnDone.AddDynamic(this, &UTestListener::HandleDone);
        Character.OnFailed.AddDynamic(this, &UTestListener::HandleFailed);
    }
    bool HasEnded() const { return Done.Num() + Failed.Num() != 0; }

    FString Text;
    int32 Partials = 0;
    TArray<FString> Sentences;
    TArray<FSottoAnswer> Done;
    TArray<FSottoAnswer> Failed;
    TArray<FSottoSavedGame> Games;
    TArray<float> Fractions;
    TArray<FSottoImage> Previews;
    TArray<FSottoImage> Images;
    TArray<FSottoStoreResult> StoreDone;
    TArray<FSottoStoreResult> StoreFailed;
    TArray<FString> Missing;
    bool bStored = false;

    /** Of previews and images; null of a failure. */
    UPROPERTY()
    TArray<TObjectPtr<UTexture2D>> Textures;

    /** Asks this character again after each failure. */
    UPROPERTY()
    TObjectPtr<USottoCharacterComponent> Again;

    /** Destroys this actor at the next part of an answer. */
    UPROPERTY()
    TObjectPtr<AActor> Victim;

private:
    static void Keep(TArray<FSottoAnswer>& List, int64 Request, const FString& Said, ESottoStatus Status) {
        FSottoAnswer Answer;
        Answer.Id = Request;
        Answer.Text = Said;
        Answer.Error = Said;
        Answer.Status = Status;
        List.Add(Answer);
    }
};
