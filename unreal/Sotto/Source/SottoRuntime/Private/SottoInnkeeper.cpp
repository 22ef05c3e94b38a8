#include "SottoInnkeeper.h"

#include "SottoCharacterComponent.h"
#include "SottoLog.h"
#include "SottoSheet.h"

ASottoInnkeeper::ASottoInnkeeper()
{
    PrimaryActorTick.bCanEverTick = false;
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
    Character->OnPartial.AddDynamic(this, &ASottoInnkeeper::HandlePartial);
    Character->OnFailed.AddDynamic(this, &ASottoInnkeeper::HandleFailed);
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
