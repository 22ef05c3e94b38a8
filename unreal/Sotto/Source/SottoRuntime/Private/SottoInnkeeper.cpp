#include "SottoInnkeeper.h"

#include "Components/SceneComponent.h"
#include "SottoCharacterComponent.h"
#include "SottoLog.h"
#include "SottoSettings.h"
#include "SottoSheet.h"
#include "UObject/UObjectGlobals.h"

ASottoInnkeeper::ASottoInnkeeper()
{
    PrimaryActorTick.bCanEverTick = false;
    RootComponent = CreateDefaultSubobject<USceneComponent>(TEXT("Root")); // an actor without one is at zero
    Character = CreateDefaultSubobject<USottoCharacterComponent>(TEXT("Character"));
}

void ASottoInnkeeper::BeginPlay()
{
    Super::BeginPlay();
    if (Character->Sheet == nullptr)
    {
        USottoSheet* Sheet = NewObject<USottoSheet>(this);
        Sheet->Name = TEXT("Marta Brightwater");
        Sheet->Role = TEXT("innkeeper");
        Sheet->Manner = TEXT("cheerful");
        Sheet->Place = TEXT("the Gilded Otter, Millbrook");
        Sheet->Prices = {TEXT("stew: 4 copper"), TEXT("a bed for the night: 9 copper")};
        Character->SetSheet(Sheet);
    }
    Character->bRemembers = !GetDefault<USottoSettings>()->EmbeddingModel.IsEmpty();
    // Unique: BeginPlay runs again if the actor's level is streamed out and in.
    Character->OnPartial.AddUniqueDynamic(this, &ASottoInnkeeper::HandlePartial);
    Character->OnFailed.AddUniqueDynamic(this, &ASottoInnkeeper::HandleFailed);
}

void ASottoInnkeeper::Greet(const FString& Question)
{
    Bubble.Empty();
    Character->Say(Question);
}

void ASottoInnkeeper::HandlePartial(int64, const FString& Text)
{
    Bubble += Text;
}

void ASottoInnkeeper::HandleFailed(const FSottoAnswer& Answer)
{
    UE_LOG(LogSotto, Warning, TEXT("the innkeeper has no answer: %s"), *Answer.Error);
}
