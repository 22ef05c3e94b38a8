/* The memories of a character: recalled before an answer, kept after it. They are those of `sotto.npc`. */
#include <stdio.h>
#include <stdlib.h>

#include "speech.h"

static Value parsed(const char* json) {
    return GD_STATIC("JSON", "parse_string", gd_chars(json));
}

static void put(Value dictionary, const char* key, Value item) {
    gd_drop(GD_CALL(dictionary, "set", gd_chars(key), item));
}

/* Returns `before`, a text, which is dropped, and `after`. */
static Value joined(const char* before, Value text, const char* after) {
    const Value whole = GD_CALL(text, "insert", gd_int(0), gd_chars(before));
    const Value all = GD_CALL(whole, "insert", GD_GET(whole, "length"), gd_chars(after));
    gd_drop(whole);
    gd_drop(text);
    return all;
}

static bool has_memory(const Character* character) {
    return gd_instance(&store_class, &character->fields[MEMORY]) != NULL;
}

/* Makes one line of a text: white space becomes single spaces. */
static void make_line(char* text) {
    char* to = text;
    for (const char* from = text; *from != '\0'; ++from) {
        const bool is_space = (unsigned char)*from <= ' ';
        if (!is_space || (to > text && to[-1] != ' ')) {
            *to++ = is_space ? ' ' : *from;
        }
    }
    *(to > text && to[-1] == ' ' ? to - 1 : to) = '\0';
}

/* Returns the rest of the sheet's line that begins with a title, to be freed; empty without such a line. */
static char* sheet_line(const Character* character, const char* title) {
    char* sheet = gd_to_chars(gd_copy(&character->fields[SHEET]));
    const char* at = sheet;
    while (at != NULL && strncmp(at, title, strlen(title)) != 0) {
        at = strchr(at, '\n');
        at = at == NULL ? NULL : at + 1;
    }
    at = at == NULL ? "" : at + strlen(title);
    const size_t size = strcspn(at, "\n");
    char* rest = calloc(size + 1, 1);
    if (rest != NULL) {
        memcpy(rest, at, size);
        make_line(rest);
    }
    free(sheet);
    return rest;
}

/* Returns the namespace of a character's memories: its name in the sheet, or else of the node. */
static Value own_namespace(const Character* character) {
    char* name = sheet_line(character, "Name:");
    Value found = gd_chars(name == NULL ? "" : name);
    if (name == NULL || name[0] == '\0') {
        const Value node = GD_GET(gd_object(character->object), "get_name");
        gd_replace(&found, GD_GET(node, "strip_edges")); /* a String */
        gd_drop(node);
    }
    free(name);
    return found;
}

/* Inserts lines under a title of the sheet, which is dropped; adds the title before those that follow it. */
static Value add_lines(Value sheet, int title, Value lines) {
    static const char* const titles[] = {"\nFacts:\n", "\nMemories:\n", "\nActions:", "\nAnswer as:"};
    int64_t at = gd_to_int(GD_CALL(sheet, "find", gd_chars(titles[title])));
    Value added = gd_copy(&lines);
    if (at >= 0) {
        at += (int64_t)strlen(titles[title]);
    } else {
        gd_replace(&added, GD_CALL(lines, "insert", gd_int(0), gd_chars(titles[title] + 1)));
        for (int next = title + 1; next < 4 && at < 0; ++next) {
            at = gd_to_int(GD_CALL(sheet, "find", gd_chars(titles[next])));
        }
        at = at < 0 ? gd_to_int(GD_GET(sheet, "length")) : at + 1;
    }
    const Value longer = GD_CALL(sheet, "insert", gd_int(at), added);
    gd_drop(sheet);
    gd_drop(lines);
    return longer;
}

/* Takes the next entry of a query's results that the conversation does not hold. Returns its list: 0 facts,
 * 1 memories; -1: none is left. */
static int next_entry(Value results, int64_t since_ms, Value* text) {
    while (gd_to_int(GD_GET(results, "is_empty")) == 0) {
        const Value entry = GD_GET(results, "pop_front"), none = parsed("{}");
        const Value metadata = GD_CALL(entry, "get", gd_chars("metadata"), none);
        char* kind = gd_to_chars(GD_CALL(metadata, "get", gd_chars("kind"), gd_chars("fact")));
        const int64_t created = gd_to_int(GD_CALL(entry, "get", gd_chars("created_ms"), gd_int(0)));
        const bool is_fact = kind == NULL || strcmp(kind, "fact") == 0;
        const bool is_known = kind != NULL && strcmp(kind, "said") == 0 && created >= since_ms;
        const Value value = GD_CALL(entry, "get", gd_chars("value"), gd_chars(""));
        gd_replace(text, GD_CALL(value, "replace", gd_chars("\n"), gd_chars(" ")));
        gd_drop(value);
        gd_drop(metadata);
        gd_drop(entry);
        free(kind);
        if (!is_known) {
            return is_fact ? 0 : 1;
        }
    }
    return -1;
}

/* Writes the system message of an answer: the sheet with the first results. */
static void write_prompt(Answer* answer, Value results) {
    const Character* character = answer->owner;
    const int64_t since_ms = character->told_ms[character->exchanges % RECENT];
    int64_t left = gd_to_int(gd_copy(&character->fields[RECALLED]));
    Value lines[2] = {gd_chars(""), gd_chars("")}, text = gd_chars("");
    for (int list = 0; left > 0 && (list = next_entry(results, since_ms, &text)) >= 0; --left) {
        const Value line = joined("- ", gd_copy(&text), "\n");
        gd_replace(&lines[list], GD_CALL(lines[list], "insert", GD_GET(lines[list], "length"), line));
    }
    gd_drop(text);
    Value sheet = joined("\n", GD_GET(character->fields[SHEET], "strip_edges"), "\n");
    for (int list = 0; list < 2; ++list) {
        if (gd_to_int(GD_GET(lines[list], "is_empty")) == 0) {
            sheet = add_lines(sheet, list, lines[list]);
        } else {
            gd_drop(lines[list]);
        }
    }
    answer->prompt = gd_to_chars(GD_GET(sheet, "strip_edges"));
    gd_drop(sheet);
}

static void end_recall(Answer* answer, Outcome outcome, sotto_str json) {
    answer->recall = HAS_RECALLED;
    if (answer->owner == NULL || answer->state != WAITING) {
        return; /* cancelled, or the character was freed */
    }
    report(outcome); /* it answers without its memories */
    if (outcome.status >= 0) {
        const Value results = GD_STATIC("JSON", "parse_string", gd_text(json.data, json.size));
        write_prompt(answer, results);
        gd_drop(results);
    }
    if (answer->request == 0) { /* else the model is being loaded, which continues it */
        answer_submit(answer);
    }
}

bool memory_recall(Answer* answer) {
    Character* character = answer->owner;
    if (answer->recall == HAS_RECALLED || !has_memory(character)) {
        return false;
    }
    if (answer->recall == RECALLING) {
        return true;
    }
    answer->recall = RECALLING;
    Value query = parsed(
        "{\"weights\": {\"relevance\": 1, \"recency\": 0.1, \"importance\": 0.1},"
        " \"half_life_s\": 604800}"
    );
    put(query, "text", gd_chars(answer->line));
    put(query, "namespace", own_namespace(character));
    const int64_t recalled = gd_to_int(gd_copy(&character->fields[RECALLED]));
    put(query, "limit", gd_int(recalled + RECENT));
    put(query, "now_ms", gd_int(now_ms()));
    job_begin(&character->fields[MEMORY], QUERY, query, end_recall, answer);
    return true;
}

Outcome memory_prompt(Answer* answer) {
    Character* character = answer->owner;
    const bool is_fork = answer->fork[0] != '\0';
    const bool is_same = !is_fork && character->prompt != NULL && answer->prompt != NULL &&
                         strcmp(character->prompt, answer->prompt) == 0;
    if (answer->prompt == NULL || is_same) {
        return outcome(SOTTO_OK);
    }
    const sotto_str session = STR(is_fork ? answer->fork : character->session);
    if (!is_fork) {
        free(character->prompt);
        character->prompt = answer->prompt;
        answer->prompt = NULL;
    }
    const sotto_str prompt = STR(is_fork ? answer->prompt : character->prompt);
    return outcome(sotto_engine_set_session_system(engine, session, prompt, 0, NULL));
}

void memory_begin(Character* character) {
    character->restores = games_restored;
    for (int i = 0; i < RECENT; ++i) {
        character->told_ms[i] = now_ms();
    }
}

void memory_follow(Character* character) {
    if (character->session[0] == '\0' || character->restores == games_restored) {
        return;
    }
    memory_begin(character);
    free(character->prompt);
    character->prompt = gd_to_chars(gd_copy(&character->fields[SHEET]));
    const sotto_str session = STR(character->session), sheet = STR(character->prompt);
    report(outcome(sotto_engine_set_session_system(engine, session, sheet, 0, NULL)));
}

/* Keeps a line, which is freed. A line that is known becomes recent again. */
static void keep(Character* character, char* line, const char* kind, double importance, Answer* answer) {
    JobDone* const done = answer == NULL ? NULL : answer_end;
    make_line(line);
    const Value name = own_namespace(character), text = gd_chars(line);
    const Value hash = GD_GET(text, "sha256_text"), short_hash = GD_CALL(hash, "left", gd_int(32));
    const Value id = joined("", gd_copy(&name), "/");
    Value entry = parsed("{\"metadata\": {}}");
    const Value metadata = GD_CALL(entry, "get", gd_chars("metadata"));
    put(metadata, "kind", gd_chars(kind));
    put(entry, "id", GD_CALL(id, "insert", GD_GET(id, "length"), short_hash));
    put(entry, "namespace", name);
    put(entry, "value", text);
    put(entry, "importance", gd_real(importance));
    put(entry, "created_ms", gd_int(now_ms()));
    gd_drop(metadata);
    gd_drop(id);
    gd_drop(hash);
    job_begin(&character->fields[MEMORY], INSERT, entry, done == NULL ? report_job : done, answer);
    free(line);
}

void memory_keep(const Answer* answer) {
    Character* character = answer->owner;
    if (!has_memory(character)) {
        return;
    }
    static const char form[] = "%s said: %s You said: %s";
    char* visitor = sheet_line(character, "Visitor:");
    char* spoken = gd_to_chars(gd_copy(&answer->results[TEXT_SO_FAR]));
    const char* who = visitor == NULL || visitor[0] == '\0' ? "The visitor" : visitor;
    if (spoken != NULL && spoken[0] != '\0') {
        const size_t size = sizeof form + strlen(who) + strlen(answer->line) + strlen(spoken);
        char* line = malloc(size);
        snprintf(line, size, form, who, answer->line, spoken);
        character->told_ms[character->exchanges++ % RECENT] = now_ms();
        keep(character, line, "said", 0.3, NULL);
    }
    free(spoken);
    free(visitor);
}

void memory_add(void* self, int is_heard, const Value* text, Value* result) {
    Answer* answer = answer_new(NULL, result);
    if (!has_memory(self)) {
        const char* reason = "the character has no memory: set its property `memory` to a SottoStore";
        answer_end(answer, failure(SOTTO_ERROR_STATE, "%s", reason), (sotto_str){0});
        return;
    }
    keep(self, gd_to_chars(gd_copy(text)), is_heard ? "heard" : "fact", is_heard ? 0.3 : 0.8, answer);
}
