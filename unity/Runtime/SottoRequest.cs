// Builds a request: messages, sampling, form, tools, and how to schedule it.
using System.Collections.Generic;
using System.Globalization;

namespace Sotto
{
    /// <summary>What happens if the model has no memory at present.</summary>
    public enum SottoOnBudget
    {
        /// <summary>The engine's default: wait until other models free memory.</summary>
        Default,
        Wait,
        Fail,
        Shrink,
    }

    /// <summary>What happens to a prompt that is longer than the context.</summary>
    public enum SottoContextOverflow
    {
        /// <summary>The engine's default: drop the oldest turns.</summary>
        Default,
        Truncate,
        Shift,
        Error,
    }

    /// <summary>A request in the OpenAI schema, built without writing JSON.</summary>
    /// <remarks>
    /// A field that is null takes the library's default; the library reports a value out of range in the
    /// request's last event. A request may be submitted many times and changed between: setting a field again
    /// replaces its value, and a field that <c>Set</c> sets replaces the property of that name.
    /// </remarks>
    /// <example><code>
    /// var ask = new SottoRequest("sotto/house") { MaxTokens = 48, Temperature = 0
    /// }.System(sheet).User("Hello!");
    /// string line = await engine.ChatAsync(ask, token);
    /// </code></example>
    public sealed partial class SottoRequest
    {
        readonly SottoJsonWriter _messages = new SottoJsonWriter();
        readonly List<string> _names = new List<string>(); // of the fields that Set sets
        readonly List<SottoJsonWriter> _values = new List<SottoJsonWriter>();
        readonly SottoJsonWriter _tools = new SottoJsonWriter(16);
        readonly SottoJsonWriter _stop = new SottoJsonWriter(16);
        readonly SottoJsonWriter _lora = new SottoJsonWriter(16);

        /// <summary>Creates a request.</summary>
        /// <param name="model">Id of a loaded model. Empty: the session's model.</param>
        /// <param name="op">The operation.</param>
        public SottoRequest(string model = "", SottoOp op = SottoOp.Chat)
        {
            Model = model;
            Op = op;
        }

        /// <summary>A text completion: the raw prompt, no chat template.</summary>
        public static SottoRequest Completion(string model, string prompt) =>
            new SottoRequest(model, SottoOp.Completion).Set("prompt", prompt);

        /// <summary>A text completion between two texts, for models that support infill.</summary>
        public static SottoRequest Infill(string model, string prefix, string suffix) =>
            new SottoRequest(model, SottoOp.Infill).Set("input_prefix", prefix).Set("input_suffix", suffix);

        /// <summary>The tokens of a text.</summary>
        public static SottoRequest Tokenize(string model, string content) =>
            new SottoRequest(model, SottoOp.Tokenize).Set("content", content);

        /// <summary>The vectors of texts; <see cref="SottoEmbeddings.Parse"/> reads the response.</summary>
        public static SottoRequest Embed(string model, params string[] texts)
        {
            var input = NewValue().BeginArray();
            foreach (var text in texts)
                input.Value(text ?? "");
            return new SottoRequest(model, SottoOp.Embed).Field("input", input.EndArray());
        }

        /// <summary>
        /// The verdict of guardrails on a text, those that need models included; <see cref="SottoVerdict.Parse"/> reads
        /// the response.
        /// </summary>
        /// <param name="stage">Where the text comes from.</param>
        /// <param name="text">The text.</param>
        /// <param name="guardrails">A configuration for this check alone; see guard.h. Null: the engine's.</param>
        public static SottoRequest Check(SottoGuardStage stage, string text, string guardrails = null)
        {
            var check = new SottoRequest("", SottoOp.Check).Set("input", text ?? "");
            check.Set("stage", stage == SottoGuardStage.ImagePrompt ? "image_prompt"
                : stage == SottoGuardStage.Output ? "output" : "input");
            return guardrails == null ? check : check.SetJson("guardrails", guardrails);
        }

        /// <summary>The operation.</summary>
        public SottoOp Op { get; set; }

        /// <summary>`model`: id of a loaded model. Empty: the session's model.</summary>
        public string Model { get; set; }

        /// <summary>`session`: id of the session that the request continues. Empty: none.</summary>
        public string Session { get; set; } = "";

        /// <summary>`max_tokens`: maximum number of tokens of the answer, from 1.</summary>
        public int? MaxTokens { get; set; }

        /// <summary>`temperature`: 0 to 100. 0: always the likeliest token.</summary>
        public double? Temperature { get; set; }

        /// <summary>`top_p`: nucleus sampling, 0 to 1.</summary>
        public double? TopP { get; set; }

        /// <summary>`min_p`: 0 to 1.</summary>
        public double? MinP { get; set; }

        /// <summary>`top_k`: 0: all tokens.</summary>
        public int? TopK { get; set; }

        /// <summary>`seed`: 0 to 4294967295; -1: random.</summary>
        public long? Seed { get; set; }

        /// <summary>`n`: number of answers, 1 to 128; 1 in a session.</summary>
        public int? N { get; set; }

        /// <summary>`repeat_penalty`: 0.01 to 10. 1: off.</summary>
        public double? RepeatPenalty { get; set; }

        /// <summary>`frequency_penalty`: -10 to 10.</summary>
        public double? FrequencyPenalty { get; set; }

        /// <summary>`presence_penalty`: -10 to 10.</summary>
        public double? PresencePenalty { get; set; }

        /// <summary>`on_budget`: what happens if the model has no memory at present.</summary>
        public SottoOnBudget OnBudget { get; set; }

        /// <summary>`context_overflow`: what happens to a prompt that is too long.</summary>
        public SottoContextOverflow ContextOverflow { get; set; }

        /// <summary>Scheduling priority.</summary>
        public SottoPriority Priority { get; set; }

        /// <summary>Pace in tokens per second. 0: the engine's.</summary>
        public float TargetTps { get; set; }

        /// <summary>Deadline of the first token on <see cref="SottoEngine.NowNs"/>, in ns. 0: none.</summary>
        public ulong DeadlineNs { get; set; }

        /// <summary>Request flags.</summary>
        public SottoFlags Flags { get; set; }

        /// <summary>User data, copied into each event.</summary>
        public ulong UserData { get; set; }

        /// <summary>Adds a system message, such as a character sheet.</summary>
        public SottoRequest System(string text) => Message("system", text);

        /// <summary>Adds what the player says.</summary>
        public SottoRequest User(string text) => Message("user", text);

        /// <summary>Adds an earlier answer.</summary>
        public SottoRequest Assistant(string text) => Message("assistant", text);

        /// <summary>Adds the result of a tool call.</summary>
        /// <param name="callId">Field `id` of the call.</param>
        /// <param name="content">The result.</param>
        public SottoRequest ToolResult(string callId, string content)
        {
            _messages.BeginObject().Name("role").Value("tool").Name("tool_call_id").Value(callId);
            _messages.Name("content").Value(content).EndObject();
            return this;
        }

        /// <summary>Adds a message of any role.</summary>
        public SottoRequest Message(string role, string content)
        {
            _messages.BeginObject().Name("role").Value(role).Name("content").Value(content).EndObject();
            return this;
        }

        /// <summary>Adds a message that is JSON already, such as one of an earlier response.</summary>
        public SottoRequest MessageJson(string message)
        {
            _messages.Raw(message);
            return this;
        }

        /// <summary>`stop`: adds texts that end the answer; at most 16.</summary>
        public SottoRequest Stop(params string[] texts)
        {
            foreach (var text in texts)
                _stop.Value(text);
            return this;
        }

        /// <summary>Removes all texts of <see cref="Stop"/>.</summary>
        public SottoRequest ClearStop()
        {
            _stop.Clear();
            return this;
        }

        /// <summary>`lora`: adds a loaded adapter. Without any, the session's apply, else the model's default.</summary>
        /// <param name="name">Name under which it was loaded.</param>
        /// <param name="scale">Strength, -1000 to 1000. Null: the adapter's own.</param>
        /// <exception cref="SottoException">The scale is not finite; the request is unchanged.</exception>
        public SottoRequest Lora(string name, double? scale = null)
        {
            var one = NewValue().BeginObject().Name("name").Value(name);
            if (scale != null)
                one.Name("scale").Value(scale.Value);
            _lora.Raw(one.EndObject());
            return this;
        }

        /// <summary>Removes all adapters of <see cref="Lora"/>.</summary>
        public SottoRequest ClearLora()
        {
            _lora.Clear();
            return this;
        }

        /// <summary>Constrains the answer to a JSON object of a schema.</summary>
        public SottoRequest Schema(SottoSchema schema) => SetJson("json_schema", schema.ToString());

        /// <summary>`grammar`: constrains the answer to a GBNF grammar.</summary>
        public SottoRequest Grammar(string gbnf) => Set("grammar", gbnf);

        /// <summary>Adds a function that the model may call.</summary>
        /// <param name="name">1 to 64 letters, digits, `_`, `-`.</param>
        /// <param name="description">What it does, for the model.</param>
        /// <param name="parameters">Its parameters. Null: none.</param>
        public SottoRequest Tool(string name, string description, SottoSchema parameters = null)
        {
            _tools.BeginObject().Name("type").Value("function").Name("function").BeginObject();
            _tools.Name("name").Value(name).Name("description").Value(description);
            _tools.Name("parameters").Raw((parameters ?? new SottoSchema()).ToString()).EndObject().EndObject();
            return this;
        }

        /// <summary>Removes all functions of <see cref="Tool"/>.</summary>
        public SottoRequest ClearTools()
        {
            _tools.Clear();
            return this;
        }

        /// <summary>`tool_choice`: "auto", "none" or "required".</summary>
        public SottoRequest ToolChoice(string choice) => Set("tool_choice", choice);

        /// <summary>Sets a text field by its name in the reference.</summary>
        public SottoRequest Set(string field, string value) => Field(field, NewValue().Value(value));

        /// <summary>Sets a number field by its name in the reference.</summary>
        /// <exception cref="SottoException">The value is not finite; the request is unchanged.</exception>
        public SottoRequest Set(string field, double value) => Field(field, NewValue().Value(value));

        /// <summary>Sets an integer field by its name in the reference.</summary>
        public SottoRequest Set(string field, long value) => Field(field, NewValue().Value(value));

        /// <summary>Sets a boolean field by its name in the reference.</summary>
        public SottoRequest Set(string field, bool value) => Field(field, NewValue().Value(value));

        /// <summary>Sets a field by its name in the reference; the value is JSON.</summary>
        public SottoRequest SetJson(string field, string json) => Field(field, NewValue().Raw(json));

        /// <summary>
        /// Removes a field that <c>Set</c>, <see cref="Schema"/>, <see cref="Grammar"/> or
        /// <see cref="ToolChoice"/> set. No effect if it is not set.
        /// </summary>
        public SottoRequest Remove(string field)
        {
            var at = _names.IndexOf(field);
            if (at < 0)
                return this;
            _names.RemoveAt(at);
            _values.RemoveAt(at);
            return this;
        }

        /// <summary>Removes all messages and keeps everything else.</summary>
        public SottoRequest ClearMessages()
        {
            _messages.Clear();
            return this;
        }

        /// <summary>Returns the body as JSON.</summary>
        public override string ToString()
        {
            var json = new SottoJsonWriter();
            Write(json);
            return json.ToString();
        }

        internal void Write(SottoJsonWriter json, string session = null, string line = null)
        {
            json.BeginObject();
            Text(json, "model", Model);
            Text(json, "session", session ?? Session);
            if (line != null || !IsSet("messages") && (_messages.Size > 0 || Op == SottoOp.Chat))
            {
                json.Name("messages").BeginArray().Raw(_messages);
                if (line != null)
                    json.BeginObject().Name("role").Value("user").Name("content").Value(line).EndObject();
                json.EndArray();
            }
            WriteLists(json);
            WriteSampling(json);
            Text(json, "on_budget", OnBudget == SottoOnBudget.Default ? "" : Lower(OnBudget));
            Text(json, "context_overflow",
                ContextOverflow == SottoContextOverflow.Default ? "" : Lower(ContextOverflow));
            for (var i = 0; i < _names.Count; ++i)
                json.Name(_names[i]).Raw(_values[i]);
            json.EndObject();
        }

        void WriteLists(SottoJsonWriter json)
        {
            if (_stop.Size > 0 && !IsSet("stop"))
                json.Name("stop").BeginArray().Raw(_stop).EndArray();
            if (_lora.Size > 0 && !IsSet("lora"))
                json.Name("lora").BeginArray().Raw(_lora).EndArray();
            if (_tools.Size > 0 && !IsSet("tools"))
                json.Name("tools").BeginArray().Raw(_tools).EndArray();
        }

        void WriteSampling(SottoJsonWriter json)
        {
            Number(json, "max_tokens", MaxTokens);
            Number(json, "temperature", Temperature);
            Number(json, "top_p", TopP);
            Number(json, "min_p", MinP);
            Number(json, "top_k", TopK);
            Number(json, "seed", Seed);
            Number(json, "n", N);
            Number(json, "repeat_penalty", RepeatPenalty);
            Number(json, "frequency_penalty", FrequencyPenalty);
            Number(json, "presence_penalty", PresencePenalty);
        }

        // The value was written before, so that a value that is refused leaves the request unchanged.
        SottoRequest Field(string name, SottoJsonWriter value)
        {
            var at = _names.IndexOf(name);
            if (at >= 0)
            {
                _values[at] = value;
                return this;
            }
            _names.Add(name);
            _values.Add(value);
            return this;
        }

        bool IsSet(string name) => _names.Count > 0 && _names.Contains(name);

        static SottoJsonWriter NewValue() => new SottoJsonWriter(16);

        static string Lower(SottoOnBudget value) =>
            value == SottoOnBudget.Wait ? "wait"
            : value == SottoOnBudget.Fail ? "fail"
            : value == SottoOnBudget.Shrink ? "shrink" : Unknown((int)value);

        static string Lower(SottoContextOverflow value) =>
            value == SottoContextOverflow.Truncate ? "truncate"
            : value == SottoContextOverflow.Shift ? "shift"
            : value == SottoContextOverflow.Error ? "error" : Unknown((int)value);

        // The library refuses it with the values that it knows.
        static string Unknown(int value) => value.ToString(CultureInfo.InvariantCulture);

        void Text(SottoJsonWriter json, string name, string text)
        {
            if (!string.IsNullOrEmpty(text) && !IsSet(name))
                json.Name(name).Value(text);
        }

        void Number(SottoJsonWriter json, string name, long? number)
        {
            if (number != null && !IsSet(name))
                json.Name(name).Value(number.Value);
        }

        void Number(SottoJsonWriter json, string name, double? number)
        {
            if (number != null && !IsSet(name))
                json.Name(name).Value(number.Value);
        }
    }
}
