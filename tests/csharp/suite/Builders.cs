// JSON writer, schemas, requests, model options, sheets, sentences.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Text;
using System.Threading;
using Sotto;
using Sotto.Interop;
using UnityEngine;

static partial class Suite
{
    static void Builders()
    {
        Run("JSON writer", Writer);
        Run("JSON numbers", Numbers);
        Run("schemas", Schemas);
        Run("requests", Requests);
        Run("requests that are used again", RequestsAgain);
        Run("model options", ModelOptions);
        Run("sheets", Sheets);
        Run("sentences", Sentences);
    }

    static void Writer()
    {
        var json = new SottoJsonWriter(1);
        Same(json.BeginObject().EndObject().ToString(), "{}");
        json.Clear().BeginObject().Name("a").Value("x").Name("b").BeginArray().Value(1).Value(true);
        json.BeginObject().EndObject().BeginArray().EndArray().EndArray().Name("c").Value((string)null).EndObject();
        Same(json.ToString(), "{\"a\":\"x\",\"b\":[1,true,{},[]],\"c\":null}");
        foreach (var text in new[]
        {
            "", "plain", "\"quoted\" \\ back", "tab\tline\nnul\0", "äöüß", "夜の門番", "🏰👩‍👩‍👧", "שלום עולם", "مرحبا؟",
            "\u007f\u0080\u07ff\u0800\uffff", new string('x', 5000), "\u2028",
        })
        {
            json.Clear().BeginObject().Name("t").Value(text).EndObject();
            Same(SottoJson.Field(json.ToString(), "t", out var complete), text);
            Expect(complete, "the field is complete: " + text);
            Same(Encoding.UTF8.GetByteCount(json.ToString()), json.Size);
        }
        json.Clear().Value("a\ud83cb\udff0");
        Same(json.ToString(), "\"a\ufffdb\ufffd\"");
    }

    static void Numbers()
    {
        var culture = Thread.CurrentThread.CurrentCulture;
        Thread.CurrentThread.CurrentCulture = (CultureInfo)CultureInfo.InvariantCulture.Clone();
        Thread.CurrentThread.CurrentCulture.NumberFormat.NumberDecimalSeparator = ",";
        var json = new SottoJsonWriter();
        foreach (var number in new[] { 0, 1, -1, 9, 10, -10, long.MaxValue, long.MinValue })
            Same(json.Clear().Value(number).ToString(), number.ToString(CultureInfo.InvariantCulture));
        foreach (var number in new[] { 0.0, 0.8, -2.5, 1e-7, 1e300, double.Epsilon, 123456.789 })
            Same(double.Parse(json.Clear().Value(number).ToString(), CultureInfo.InvariantCulture), number);
        Same(json.Clear().Value(0.5).ToString(), "0.5");
        Thread.CurrentThread.CurrentCulture = culture;
        Throws(Native.SOTTO_ERROR_ARGUMENT, "expected a finite number", () => json.Value(double.NaN));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "expected a finite number", () => json.Value(double.NegativeInfinity));
    }

    static void Schemas()
    {
        Same(
            new SottoSchema().ToString(),
            "{\"type\":\"object\",\"properties\":{},\"required\":[],\"additionalProperties\":false}");
        var schema = new SottoSchema().String("say", maxLength: 9).Enum("mood", "calm", "a\"b")
            .Integer("gold", 0, 9).Integer("any", required: false).Number("weight").Boolean("open")
            .Strings("names", 3).Object("at", new SottoSchema().Integer("x")).Json("id", "{\"const\":1}", false);
        Same(
            schema.ToString(),
            "{\"type\":\"object\",\"properties\":{\"say\":{\"type\":\"string\",\"maxLength\":9},"
            + "\"mood\":{\"type\":\"string\",\"enum\":[\"calm\",\"a\\\"b\"]},"
            + "\"gold\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":9},\"any\":{\"type\":\"integer\"},"
            + "\"weight\":{\"type\":\"number\"},\"open\":{\"type\":\"boolean\"},"
            + "\"names\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"maxItems\":3},"
            + "\"at\":{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"integer\"}},\"required\":[\"x\"],"
            + "\"additionalProperties\":false},\"id\":{\"const\":1}},"
            + "\"required\":[\"say\",\"mood\",\"gold\",\"weight\",\"open\",\"names\",\"at\"],"
            + "\"additionalProperties\":false}");
    }

    static void Requests()
    {
        Same(new SottoRequest("m").ToString(), "{\"model\":\"m\",\"messages\":[]}");
        var ask = new SottoRequest("m") { MaxTokens = 4, Temperature = 0, Seed = 7, TopK = 3, N = 2 }
            .System("s").User("u").Assistant("a").ToolResult("c1", "done").Stop("\n", "END");
        Same(
            ask.ToString(),
            "{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"user\",\"content\":"
            + "\"u\"},{\"role\":\"assistant\",\"content\":\"a\"},{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":"
            + "\"done\"}],\"stop\":[\"\\u000a\",\"END\"],\"max_tokens\":4,\"temperature\":0,\"top_k\":3,\"seed\":7,\"n\":2}");
        ask.ClearMessages().MessageJson("{\"role\":\"user\"}");
        Expect(ask.ToString().Contains("\"messages\":[{\"role\":\"user\"}]"), ask.ToString());
        var more = new SottoRequest { TopP = 0.5, MinP = 0.25, RepeatPenalty = 1.5, FrequencyPenalty = 1, PresencePenalty = -1 }
            .Set("mirostat", 2).Set("xtc_probability", 0.5).Set("cache_prompt", false).Set("grammar", "root ::= \"x\"");
        more.OnBudget = SottoOnBudget.Shrink;
        more.ContextOverflow = SottoContextOverflow.Error;
        Same(
            more.ToString(),
            "{\"messages\":[],\"top_p\":0.5,\"min_p\":0.25,\"repeat_penalty\":1.5,\"frequency_penalty\":1,"
            + "\"presence_penalty\":-1,\"on_budget\":\"shrink\",\"context_overflow\":\"error\",\"mirostat\":2,"
            + "\"xtc_probability\":0.5,\"cache_prompt\":false,\"grammar\":\"root ::= \\\"x\\\"\"}");
        Same(SottoRequest.Completion("m", "p").ToString(), "{\"model\":\"m\",\"prompt\":\"p\"}");
        Same(SottoRequest.Infill("m", "a", "b").ToString(), "{\"model\":\"m\",\"input_prefix\":\"a\",\"input_suffix\":\"b\"}");
        Same(SottoRequest.Tokenize("m", "a b").ToString(), "{\"model\":\"m\",\"content\":\"a b\"}");
        var tools = new SottoRequest("m").Tool("open_door", "Opens.", new SottoSchema().String("door"))
            .Tool("wait", "Waits.").ToolChoice("required").ToString();
        Expect(tools.Contains("\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"open_door\""), tools);
        Expect(tools.Contains(",{\"type\":\"function\",\"function\":{\"name\":\"wait\""), tools);
        Expect(tools.EndsWith("\"tool_choice\":\"required\"}"), tools);
        foreach (var value in new[] { SottoOnBudget.Wait, SottoOnBudget.Fail })
            Expect(
                new SottoRequest { OnBudget = value }.ToString().Contains(value.ToString().ToLowerInvariant()), $"{value}");
        foreach (var value in new[] { SottoContextOverflow.Truncate, SottoContextOverflow.Shift })
            Expect(
                new SottoRequest { ContextOverflow = value }.ToString().Contains(value.ToString().ToLowerInvariant()),
                $"{value}");
    }

    static void RequestsAgain()
    {
        SottoSchema form = new SottoSchema().String("say"), door = new SottoSchema().String("door");
        SottoRequest again = new SottoRequest("m") { Seed = 5 };
        for (var turn = 0; turn < 20; ++turn)
        {
            again.ClearMessages().ClearStop().ClearTools().User($"line {turn}").Stop("END").Tool("open", "Opens.", door);
            again.Schema(form).Set("cache_prompt", true).Set("seed", turn).Set("min_p", 0.5).Set("grammar", "x");
        }
        var once = new SottoRequest("m").User("line 19").Stop("END").Tool("open", "Opens.", door).Schema(form)
            .Set("cache_prompt", true).Set("seed", 19).Set("min_p", 0.5).Set("grammar", "x").ToString();
        Same(again.ToString(), once);
        Throws(Native.SOTTO_ERROR_ARGUMENT, "expected a finite number", () => again.Set("min_p", double.NaN));
        Throws(Native.SOTTO_ERROR_ARGUMENT, "expected a finite number", () => again.Set("x", double.NaN));
        Same(again.ToString(), once);
        var unknown = new SottoRequest("m") { OnBudget = (SottoOnBudget)99, ContextOverflow = (SottoContextOverflow)(-1) };
        Expect(unknown.ToString().Contains("\"on_budget\":\"99\",\"context_overflow\":\"-1\""), unknown.ToString());
        again.Set("min_p", 0.25);
        Expect(again.ToString().Contains("\"seed\":19,\"min_p\":0.25,"), again.ToString());
        again.Remove("grammar").Remove("json_schema").Remove("absent").ClearStop().ClearTools().Remove("seed");
        Same(
            again.ToString(),
            "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"line 19\"}],\"seed\":5,"
            + "\"cache_prompt\":true,\"min_p\":0.25}");
    }

    static void ModelOptions()
    {
        Same(new SottoModel("npc").OptionsJson(), "");
        var model = new SottoModel("npc", "p")
        {
            Context = 64, MinContext = 32, Parallel = 2, Batch = 8, Mmap = false, GpuLayers = 0,
            FlashAttention = "off", KvType = "q8_0", Speculative = "lookup", Draft = "d", ChatTemplate = "t", Projector = "j",
        };
        Same(
            model.SetJson("image_tokens", "64").OptionsJson(),
            "{\"context\":64,\"min_context\":32,\"parallel\":2,\"batch\":8,\"mmap\":false,\"gpu_layers\":0,"
            + "\"flash_attention\":\"off\",\"kv_type\":\"q8_0\",\"speculative\":\"lookup\",\"draft\":\"d\","
            + "\"chat_template\":\"t\",\"projector\":\"j\",\"image_tokens\":64}");
        var entry = new SottoModelEntry { id = "npc", backend = "scripted", context = 128 };
        Same(entry.ToModel("p").OptionsJson(), "{\"context\":128}");
        Same(entry.ToModel("p").Backend, "scripted");
    }

    static void Sheets()
    {
        var sheet = ScriptableObject.CreateInstance<SottoSheet>();
        Same(sheet.ToPrompt(), "");
        Same(sheet.ToSchema(), null);
        sheet.fullName = "Mara";
        sheet.role = "inn\nkeeper";
        sheet.prices = new List<string> { "stew: 4 copper", "bed: 9\ncopper" };
        Same(sheet.ToPrompt(), "Name: Mara\nRole: inn keeper\nPrices:\n- stew: 4 copper\n- bed: 9 copper");
        sheet.decides = true;
        Expect(sheet.ToPrompt().EndsWith("\nAnswer as: JSON (say, emotion)"), sheet.ToPrompt());
        Expect(!sheet.ToSchema().ToString().Contains("action"), "a sheet without actions");
        sheet.actions = new List<string> { "nod", "none" };
        Expect(sheet.ToPrompt().EndsWith("Actions: nod, none\nAnswer as: JSON (say, emotion, action)"), sheet.ToPrompt());
        Expect(sheet.ToSchema().ToString().Contains("\"enum\":[\"nod\",\"none\"]"), "actions of the schema");
        sheet.prose = "You are Mara.";
        Same(sheet.ToPrompt(), "You are Mara.");
    }

    static void Sentences()
    {
        Split("One. Two! Three? rest", "One.|Two!|Three?|rest");
        Split("It costs 3.50 copper. Really.", "It costs 3.50 copper.|Really.");
        Split("\"Stay!\" she said. \"No...\" Then", "\"Stay!\"|she said.|\"No...\"|Then");
        Split("夜です。門を閉めろ！はい", "夜です。|門を閉めろ！|はい");
        Split("هل أنت هنا؟ نعم.", "هل أنت هنا؟|نعم.");
        Split("Ja… Nun gut.", "Ja…|Nun gut.");
        Split("", "");
        Split("🏰! 👩‍👩‍👧.", "🏰!|👩‍👩‍👧.");
        Split("「行け。」と言った。『だめ。』{Why.} Go", "「行け。」|と言った。|『だめ。』|{Why.}|Go");
        var quoted = new SottoSentences();
        quoted.Add("「行け。");
        Expect(!quoted.TryNext(out _), "a closing quote may follow");
        quoted.Add("」");
        Expect(!quoted.TryNext(out _), "and another one");
        Expect(quoted.TryFlush(out var rest) && rest == "「行け。」", rest);
        // The rows of tests/unreal/core_test.cpp; tests/csharp/sentences.py compares both engines.
        Split("Welcome! Stew is 4 copper. Sit down", "Welcome!|Stew is 4 copper.|Sit down");
        Split("Who? Me?! \"No.\" he said.", "Who?|Me?!|\"No.\"|he said.");
        Split("It costs 3.50 copper.", "It costs 3.50 copper.");
        Split("one\ntwo\n\n", "one|two");
        Split("Well... perhaps. ", "Well...|perhaps.");
        Split("   \n ", "");
        Split("Ask Mr. Odo. He knows.", "Ask Mr. Odo.|He knows.");
        Split("J. R. Brightwater owns it. Truly.", "J. R. Brightwater owns it.|Truly.");
        Split("So do I. And you?", "So do I.|And you?");
        Split(
            "Good evening, Dr. Hale! \"Stew?\" Four copper... No more. Yes (really). ",
            "Good evening, Dr. Hale!|\"Stew?\"|Four copper...|No more.|Yes (really).");
        Split("こんにちは。元気？はい！", "こんにちは。|元気？|はい！");
        Split("مرحبا! كيف حالك؟ بخير.", "مرحبا!|كيف حالك؟|بخير.");
        Split("Fine 👍🏽. Bye 👋!", "Fine 👍🏽.|Bye 👋!");
    }

    static void Split(string text, string wanted)
    {
        for (var step = 1; step < 9; ++step)
            Same(SplitBy(text, step), wanted);
        Same(SplitBy(text, 1000), wanted);
    }

    static string SplitBy(string text, int step)
    {
        var splitter = new SottoSentences();
        var found = new List<string>();
        for (var i = 0; i < text.Length; i += step)
        {
            splitter.Add(text.Substring(i, Math.Min(step, text.Length - i)));
            while (splitter.TryNext(out var sentence))
                found.Add(sentence);
        }
        if (splitter.TryFlush(out var rest))
            found.Add(rest);
        return string.Join("|", found);
    }

    // Prints the sentences of each line of a file, in which `\n` is a line break: see tests/csharp/sentences.py.
    static int PrintSentences(string path)
    {
        using (var output = new StreamWriter(Console.OpenStandardOutput(), new UTF8Encoding(false)))
            foreach (var line in File.ReadAllLines(path))
                output.Write(SplitBy(line.Replace("\\n", "\n"), 1 + line.Length % 7) + "\n");
        return 0;
    }
}
