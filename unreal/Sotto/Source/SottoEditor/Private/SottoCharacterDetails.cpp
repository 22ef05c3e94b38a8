#include "SottoCharacterDetails.h"

#include "DetailCategoryBuilder.h"
#include "DetailLayoutBuilder.h"
#include "DetailWidgetRow.h"
#include "SottoCharacterComponent.h"
#include "SottoChat.h"
#include "Templates/Casts.h"
#include "Widgets/Input/SEditableTextBox.h"
#include "Widgets/SBoxPanel.h"
#include "Widgets/Text/STextBlock.h"

#define LOCTEXT_NAMESPACE "Sotto"

TSharedRef<IDetailCustomization> FSottoCharacterDetails::MakeInstance()
{
    return MakeShared<FSottoCharacterDetails>();
}

void FSottoCharacterDetails::CustomizeDetails(IDetailLayoutBuilder& DetailBuilder)
{
    TArray<TWeakObjectPtr<UObject>> Objects;
    DetailBuilder.GetObjectsBeingCustomized(Objects);
    Character = Objects.Num() == 1 ? Cast<USottoCharacterComponent>(Objects[0].Get()) : nullptr;
    Chat = MakeShared<FSottoChat>();
    // clang-format off: Slate's own layout
    DetailBuilder.EditCategory(TEXT("Sotto"))
        .AddCustomRow(LOCTEXT("Chat", "Chat"))
        .WholeRowContent()
        [
            SNew(SVerticalBox)
            + SVerticalBox::Slot().AutoHeight()
            [
                SNew(STextBlock)
                .AutoWrapText(true)
                .Text(this, &FSottoCharacterDetails::GetTranscript)
            ]
            + SVerticalBox::Slot().AutoHeight()
            [
                SNew(SEditableTextBox)
                .HintText(LOCTEXT("Ask", "Ask the character"))
                .ClearTextSelectionOnFocusLoss(true)
                .OnTextCommitted(this, &FSottoCharacterDetails::HandleCommitted)
            ]
        ];
    // clang-format on
}

FText FSottoCharacterDetails::GetTranscript() const
{
    return FText::FromString(Chat->GetTranscript());
}

void FSottoCharacterDetails::HandleCommitted(const FText& Text, ETextCommit::Type CommitType)
{
    if (CommitType == ETextCommit::OnEnter && Character.IsValid() && !Text.IsEmpty())
    {
        Chat->Ask(*Character.Get(), Text.ToString());
    }
}

#undef LOCTEXT_NAMESPACE
