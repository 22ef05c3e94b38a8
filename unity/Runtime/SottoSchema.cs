// Builds the JSON schema of an answer or of a tool's parameters.
using System.Collections.Generic;

namespace Sotto
{
    /// <summary>
    /// The schema of a JSON object. The model decodes fields in the order in which they are added.
    /// </summary>
    /// <remarks>
    /// Put the field that is spoken first, so that a character speaks while the rest is generated.
    /// </remarks>
    /// <example><code>
    /// new SottoSchema().String("say", maxLength: 120).Enum("emotion", "calm", "happy", "angry")
    /// </code></example>
    public sealed class SottoSchema
    {
        readonly SottoJsonWriter _properties = new SottoJsonWriter();
        readonly List<string> _required = new List<string>();

        /// <summary>Adds a text field.</summary>
        /// <param name="name">Name of the field.</param>
        /// <param name="maxLength">Maximum number of characters. 0: no limit.</param>
        /// <param name="required">Whether each answer has the field.</param>
        public SottoSchema String(string name, int maxLength = 0, bool required = true)
        {
            Begin(name, "string", required);
            if (maxLength > 0)
                _properties.Name("maxLength").Value(maxLength);
            return End();
        }

        /// <summary>Adds a text field with a fixed list of values.</summary>
        public SottoSchema Enum(string name, params string[] values)
        {
            Begin(name, "string", true);
            _properties.Name("enum").BeginArray();
            foreach (var value in values)
                _properties.Value(value);
            _properties.EndArray();
            return End();
        }

        /// <summary>Adds an integer field, both limits inclusive.</summary>
        public SottoSchema Integer(string name, long? minimum = null, long? maximum = null, bool required = true)
        {
            Begin(name, "integer", required);
            if (minimum != null)
                _properties.Name("minimum").Value(minimum.Value);
            if (maximum != null)
                _properties.Name("maximum").Value(maximum.Value);
            return End();
        }

        /// <summary>Adds a number field.</summary>
        public SottoSchema Number(string name, bool required = true)
        {
            Begin(name, "number", required);
            return End();
        }

        /// <summary>Adds a field that is true or false.</summary>
        public SottoSchema Boolean(string name, bool required = true)
        {
            Begin(name, "boolean", required);
            return End();
        }

        /// <summary>Adds a list of texts.</summary>
        /// <param name="name">Name of the field.</param>
        /// <param name="maxItems">Maximum number of items. 0: no limit.</param>
        /// <param name="required">Whether each answer has the field.</param>
        public SottoSchema Strings(string name, int maxItems = 0, bool required = true)
        {
            Begin(name, "array", required);
            _properties.Name("items").BeginObject().Name("type").Value("string").EndObject();
            if (maxItems > 0)
                _properties.Name("maxItems").Value(maxItems);
            return End();
        }

        /// <summary>Adds an object field.</summary>
        public SottoSchema Object(string name, SottoSchema schema, bool required = true) =>
            Json(name, schema.ToString(), required);

        /// <summary>Adds a field with a schema in JSON, for keywords that this class lacks.</summary>
        public SottoSchema Json(string name, string schema, bool required = true)
        {
            if (required)
                _required.Add(name);
            _properties.Name(name).Raw(schema);
            return this;
        }

        /// <summary>Returns the schema as JSON.</summary>
        public override string ToString()
        {
            var json = new SottoJsonWriter();
            json.BeginObject().Name("type").Value("object").Name("properties");
            json.Raw("{" + _properties + "}").Name("required").BeginArray();
            foreach (var name in _required)
                json.Value(name);
            return json.EndArray().Name("additionalProperties").Value(false).EndObject().ToString();
        }

        void Begin(string name, string type, bool required)
        {
            if (required)
                _required.Add(name);
            _properties.Name(name).BeginObject().Name("type").Value(type);
        }

        SottoSchema End()
        {
            _properties.EndObject();
            return this;
        }
    }
}
