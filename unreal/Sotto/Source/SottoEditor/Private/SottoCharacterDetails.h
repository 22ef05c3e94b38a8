#pragma once

#include "CoreMinimal.h"
#include "IDetailCustomization.h"
#include "Types/SlateEnums.h"

class FSottoChat;
class USottoCharacterComponent;

/** Adds a chat box to the details of a character component. */
class FSottoCharacterDetails : public IDetailCustomization
{
public:
    static TSharedRef<IDetailCustomization> MakeInstance();

    virtual void CustomizeDetails(IDetailLayoutBuilder& DetailBuilder) override;

private:
    FText GetTranscript() const;
    void HandleCommitted(const FText& Text, ETextCommit::Type CommitType);

    TWeakObjectPtr<USottoCharacterComponent> Character;
    TSharedPtr<FSottoChat> Chat;
};
