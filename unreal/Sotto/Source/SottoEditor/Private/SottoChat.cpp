#include "SottoChat.h"

#include "SottoCharacterComponent.h"
#include "SottoSettings.h"
#include "SottoSheet.h"

FSottoChat::~FSottoChat()
{
    FTSTicker::GetCoreTicker().RemoveTicker(Ticker);
    Host.Stop(TEXT("the chat was closed"), false);
}

void FSottoChat::Ask(const USottoCharacterComponent& Character, const FString& Question)
{
    if (!Ticker.IsValid())
    {
        Host.Start(FSottoEngineOptions());
        Host.SetDefaultModel(GetDefault<USottoSettings>()->Model);
        Ticker =
            FTSTicker::GetCoreTicker().AddTicker(FTickerDelegate::CreateRaw(this, &FSottoChat::Tick), 0.0f);
    }
    const FString Sheet = IsValid(Character.Sheet) ? Character.Sheet->ToSystemMessage() : FString();
    if (!Sheet.Equals(System, ESearchCase::CaseSensitive))
    {
        Host.CloseConversation(Conversation); // an edited sheet starts a new conversation
    }
    System = Sheet;
    Conversation = Character.GetConversation();
    FSottoTurn Turn;
    Turn.Text = Question;
    Turn.Conversation = Conversation;
    Turn.System = System;
    Turn.Model = Character.Model;
    Turn.MaxTokens = Character.MaxTokens;
    Turn.Temperature = Character.Temperature;
    FSottoHandlers Handlers;
    Handlers.Partial = FSottoTextDelegate::CreateRaw(this, &FSottoChat::HandlePartial);
    Handlers.Ended = FSottoAnswerDelegate::CreateRaw(this, &FSottoChat::HandleEnded);
    Transcript += TEXT("> ") + Question + TEXT("\n");
    Request = Host.Say(Turn, Handlers);
}

bool FSottoChat::Tick(float)
{
    Host.Tick();
    return true;
}

void FSottoChat::HandlePartial(int64, const FString& Text)
{
    Transcript += Text;
}

void FSottoChat::HandleEnded(const FSottoAnswer& Answer)
{
    Request = 0;
    Transcript += Answer.Status == ESottoStatus::Ok ? FString(TEXT("\n")) : Answer.Error + TEXT("\n");
}
