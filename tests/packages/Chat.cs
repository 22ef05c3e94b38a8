// Asks the house model for a price, with the libraries of the Unity package.
using System;
using Sotto;

static class Chat
{
    const string Question = @"{""model"": ""sotto/house"", ""max_tokens"": 48, ""temperature"": 0, ""messages"": [
        {""role"": ""system"", ""content"": ""Name: Mara\nRole: ferrywoman\nPrices:\n- a ferry ride: 3 copper""},
        {""role"": ""user"", ""content"": ""How much is a ferry ride?""}]}";

    static int Main()
    {
        using (var engine = new SottoEngine())
        {
            engine.WaitDone(engine.LoadModel("sotto/house", flags: SottoFlags.Private));
            Console.WriteLine(engine.WaitDone(engine.Submit(SottoOp.Chat, Question, flags: SottoFlags.Private)).Json);
        }
        return 0;
    }
}
