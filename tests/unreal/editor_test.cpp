// The editor module: the chat box in the details panel, and the check before a cook.
#include "DetailLayoutBuilder.h"
#include "GameDelegates.h"
#include "IDetailCustomization.h"
#include "Misc/ConfigCacheIni.h"
#include "Modules/ModuleManager.h"
#include "PropertyEditorModule.h"
#include "SottoSettings.h"
#include "Widgets/Input/SEditableTextBox.h"
#include "Widgets/SBoxPanel.h"
#include "Widgets/Text/STextBlock.h"
#include "fixture.hpp"

using namespace fixture;

namespace {

TArray<FString> cook() {
    DoubleTakeLog(ELogVerbosity::Error);
    TArray<FName> more;
    TArray<FName> never;
    FGameDelegates::Get().GetModifyCookDelegate().Broadcast(
        TConstArrayView<const ITargetPlatform*>(), more, never
    );
    return DoubleTakeLog(ELogVerbosity::Error);
}

} // namespace

TEST_CASE("the chat box answers without playing") {
    reset();
    auto* editor = FModuleManager::GetModulePtr<FPropertyEditorModule>("PropertyEditor");
    REQUIRE(editor != nullptr);
    const FOnGetDetailCustomizationInstance* make = editor->DoubleLayouts.Find("SottoCharacterComponent");
    REQUIRE(make != nullptr);
    USottoCharacterComponent* component = NewObject<USottoCharacterComponent>();
    component->AddToRoot();
    component->Sheet = sheet(component, TEXT("Marta"));
    component->Temperature = 0;
    {
        IDetailLayoutBuilder layout;
        layout.DoubleObjects.Add(component);
        const TSharedRef<IDetailCustomization> details = make->Execute();
        details->CustomizeDetails(layout);
        const TSharedPtr<SWidget> box = layout.DoubleCategory.DoubleRow.WholeRowContent().DoubleContent;
        REQUIRE(box->DoubleChildren.Num() == 2);
        const auto& transcript = static_cast<const STextBlock&>(*box->DoubleChildren[0]);
        const auto& input = static_cast<const SEditableTextBox&>(*box->DoubleChildren[1]);
        input.DoubleCommit(FText::FromString(TEXT("lost focus")), ETextCommit::OnUserMovedFocus);
        CHECK(transcript.DoubleText().IsEmpty());
        input.DoubleCommit(FText::FromString(TEXT("How much is stew?")), ETextCommit::OnEnter);
        CHECK(double_run_until([&] {
            return transcript.DoubleText().ToString().Contains(TEXT("4 copper"));
        }));
        component->Sheet->Prices = {TEXT("stew: 7 silver")};
        input.DoubleCommit(FText::FromString(TEXT("How much is stew?")), ETextCommit::OnEnter);
        const bool is_dearer =
            double_run_until([&] { return transcript.DoubleText().ToString().Contains(TEXT("7 silver")); });
        CHECK_MESSAGE(is_dearer, utf8(transcript.DoubleText().ToString()));
        component->Model = TEXT("none.gguf");
        input.DoubleCommit(FText::FromString(TEXT("How much is stew?")), ETextCommit::OnEnter);
        CHECK(double_run_until([&] {
            return transcript.DoubleText().ToString().Contains(TEXT("none.gguf'"));
        }));
        input.DoubleCommit(FText::FromString(TEXT("Closed meanwhile")), ETextCommit::OnEnter);
    }
    component->RemoveFromRoot();
    double_frame();
}

TEST_CASE("a cook fails if the library or the model would be missing in the game") {
    reset();
    USottoSettings* settings = GetMutableDefault<USottoSettings>();
    CHECK(cook().IsEmpty());
    settings->Model = TEXT("Models/big.gguf");
    TArray<FString> problems = cook();
    REQUIRE(problems.Num() == 1);
    CHECK(problems[0].StartsWith(TEXT("invalid Model 'Models/big.gguf': expected a file in Content/")));
    const std::filesystem::path model = write("Content/Models/big.gguf", "x");
    problems = cook();
    REQUIRE(problems.Num() == 1);
    CHECK(problems[0].Contains(TEXT("is not staged")));
    GConfig->DoubleSet(
        TEXT("/Script/UnrealEd.ProjectPackagingSettings"),
        TEXT("DirectoriesToAlwaysStageAsNonUFS"),
        {TEXT("(Path=\"models\")")}
    );
    CHECK(cook().Num() == 1); // Linux and Android tell the folders apart
    GConfig->DoubleSet(
        TEXT("/Script/UnrealEd.ProjectPackagingSettings"),
        TEXT("DirectoriesToAlwaysStageAsNonUFS"),
        {TEXT("(Path=\"Other\")"), TEXT("(Path=\"Models\")")}
    );
    CHECK(cook().IsEmpty());
    settings->Model = text(model.string()); // an absolute path is not staged
    CHECK(cook().Num() == 1);
    settings->Model = TEXT("sotto/house");
    settings->LeaveOut = {TEXT("onnx"), TEXT("house")};
    problems = cook();
    REQUIRE(problems.Num() == 1);
    CHECK(problems[0].StartsWith(TEXT("invalid Model 'sotto/house': Leave Out names that model")));
    settings->LeaveOut = {TEXT("onnx")};
    CHECK(cook().IsEmpty());
    settings->LeaveOut = {};
    settings->EmbeddingModel = TEXT("Models/none.gguf");
    settings->Guardrails = TEXT("none.json");
    problems = cook();
    REQUIRE(problems.Num() == 2);
    CHECK(problems[0].StartsWith(TEXT("invalid Embedding Model 'Models/none.gguf': expected a file")));
    CHECK(problems[1].StartsWith(TEXT("Guardrails: invalid configuration 'none.json'")));
    settings->EmbeddingModel = FString();
    settings->Guardrails = TEXT("{}");
    CHECK(cook().IsEmpty());
    const std::filesystem::path plugins = double_folders().plugins;
    double_folders().plugins = "/no/such/folder";
    problems = cook();
    double_folders().plugins = plugins;
    REQUIRE(problems.Num() == 1);
    CHECK(problems[0].Contains(TEXT("is missing; install the plugin's package")));
}
