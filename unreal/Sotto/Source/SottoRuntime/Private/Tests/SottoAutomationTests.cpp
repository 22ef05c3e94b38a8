#include "Misc/AutomationTest.h"

#include "Core/Priority.h"
#include "Core/Sentences.h"
#include "SottoConvert.h"
#include "SottoLibrary.h"
#include "SottoPaths.h"
#include "SottoSettings.h"
#include "SottoSheet.h"
#include "UObject/UObjectGlobals.h"

#if WITH_DEV_AUTOMATION_TESTS

// Session Frontend > Automation > Sotto. None needs a level or a model.
#  define SOTTO_TEST_FLAGS                                                                                   \
      (EAutomationTestFlags::EditorContext | EAutomationTestFlags::ClientContext |                           \
       EAutomationTestFlags::ProductFilter)

IMPLEMENT_SIMPLE_AUTOMATION_TEST(FSottoLibraryTest, "Sotto.Library", SOTTO_TEST_FLAGS)
bool FSottoLibraryTest::RunTest(const FString&)
{
    TestTrue(FSottoLibrary::Get().InertReason(), FSottoLibrary::Get().IsLoaded());
    return true;
}

IMPLEMENT_SIMPLE_AUTOMATION_TEST(FSottoTextTest, "Sotto.Text", SOTTO_TEST_FLAGS)
bool FSottoTextTest::RunTest(const FString&)
{
    const char* Whole = "na\xC3\xAFve \xF0\x9F\x91\x8B \xD8\xB3\xD9\x84\xD8\xA7\xD9\x85";
    TestTrue(TEXT("UTF-8 survives both conversions"), SottoToUtf8(SottoToString(Whole)) == Whole);
    TestTrue(TEXT("no text"), SottoToString(std::string_view()).IsEmpty());
    return true;
}

IMPLEMENT_SIMPLE_AUTOMATION_TEST(FSottoSheetTest, "Sotto.Sheet", SOTTO_TEST_FLAGS)
bool FSottoSheetTest::RunTest(const FString&)
{
    USottoSheet* Sheet = NewObject<USottoSheet>();
    Sheet->Name = TEXT("Marta");
    Sheet->Facts = {TEXT("The cellar is locked.")};
    FSottoSheetLine Visitor;
    Visitor.Title = TEXT("Visitor");
    Visitor.Text = TEXT("Ilse");
    Sheet->Lines = {Visitor};
    const FString Written = TEXT("Name: Marta\nFacts:\n- The cellar is locked.\nVisitor: Ilse");
    TestTrue(TEXT("lines and lists"), Sheet->ToSystemMessage().Equals(Written, ESearchCase::CaseSensitive));
    return true;
}

IMPLEMENT_SIMPLE_AUTOMATION_TEST(FSottoSentencesTest, "Sotto.Sentences", SOTTO_TEST_FLAGS)
bool FSottoSentencesTest::RunTest(const FString&)
{
    SottoCore::FSentences Splitter;
    std::vector<std::string> Sentences;
    Splitter.Feed("Welcome! Ask Mr. Odo", Sentences);
    TestTrue(TEXT("the first sentence is complete"), Sentences == std::vector<std::string>{"Welcome!"});
    Splitter.Finish(Sentences);
    TestTrue(TEXT("the rest is the last"), Sentences.back() == "Ask Mr. Odo");
    return true;
}

IMPLEMENT_SIMPLE_AUTOMATION_TEST(FSottoStatusTest, "Sotto.Status", SOTTO_TEST_FLAGS)
bool FSottoStatusTest::RunTest(const FString&)
{
    TestTrue(TEXT("success"), SottoToStatus(SOTTO_EMPTY) == ESottoStatus::Ok);
    TestTrue(TEXT("cancelled"), SottoToStatus(SOTTO_ERROR_CANCELLED) == ESottoStatus::Cancelled);
    TestTrue(TEXT("the last status"), SottoToStatus(SOTTO_ERROR_BLOCKED) == ESottoStatus::Blocked);
    TestTrue(TEXT("a status of a newer library"), SottoToStatus(-99) == ESottoStatus::Internal);
    FSottoTurn Turn;
    Turn.Priority = ESottoPriority::Foreground;
    TestTrue(TEXT("foreground"), SottoToTurn(Turn).Priority == SOTTO_PRIORITY_FOREGROUND);
    Turn.Priority = ESottoPriority::Background;
    TestTrue(TEXT("background"), SottoToTurn(Turn).Priority == SOTTO_PRIORITY_BACKGROUND);
    return true;
}

IMPLEMENT_SIMPLE_AUTOMATION_TEST(FSottoSettingsTest, "Sotto.Settings", SOTTO_TEST_FLAGS)
bool FSottoSettingsTest::RunTest(const FString&)
{
    const USottoSettings* Settings = GetDefault<USottoSettings>();
    TestTrue(TEXT("near is nearer than far"), Settings->NearDistance < Settings->FarDistance);
    TestTrue(TEXT("the house model needs no path"), FSottoPaths::ResolveModel(TEXT("sotto/house")).IsEmpty());
    return true;
}

#endif
