/* Save games and guardrails: methods of the class `Sotto`. */
#include <stdlib.h>

#include "speech.h"

sotto_guard* guard;
int games_restored;

/* Creates the folder of a save game, where the engine then writes the file. */
static void make_folder(const Value* path) {
    const Value folder = GD_GET(*path, "get_base_dir");
    gd_drop(GD_STATIC("DirAccess", "make_dir_recursive_absolute", folder));
}

void game_file(void* self, int restores, const Value* argument, Value* result) {
    Answer* answer = answer_new(NULL, result);
    const Value path = GD_CALL(gd_singleton("ProjectSettings"), "globalize_path", gd_copy(argument));
    Outcome begun = engine_open();
    if (!restores && begun.status >= 0) {
        make_folder(&path);
    }
    char* file = gd_to_chars(path);
    if (begun.status >= 0 && restores) {
        begun = outcome(sotto_engine_restore_game(engine, STR(file), 0, &answer->request));
    } else if (begun.status >= 0) {
        begun = outcome(sotto_engine_save_game(engine, STR(file), 0, &answer->request));
    }
    free(file);
    answer->restores = restores;
    answer->state = RUNNING;
    if (begun.status < 0) {
        answer_end(answer, begun, (sotto_str){0});
    }
}

Outcome guard_open(const char* file) {
    if (guard != NULL || file[0] == '\0') {
        return outcome(SOTTO_OK);
    }
    char* config = gd_to_chars(GD_STATIC("FileAccess", "get_file_as_string", gd_chars(file)));
    if (config == NULL || config[0] == '\0') {
        free(config);
        return failure(
            SOTTO_ERROR_NOT_FOUND, "sotto/guardrails: the file '%s' cannot be read, or is empty", file
        );
    }
    const sotto_status status = sotto_guard_create(STR(config), &guard);
    free(config);
    if (status < 0) {
        const sotto_str reason = sotto_last_error();
        return failure(status, "sotto/guardrails '%s': %.*s", file, (int)reason.size, reason.data);
    }
    return outcome(SOTTO_OK);
}

void guard_close(void) {
    sotto_guard_destroy(guard);
    guard = NULL;
}

void guard_check(void* self, int stage, const Value* argument, Value* result) {
    static const char allowed[] = "{\"action\": \"Allow\", \"allowed\": true}";
    sotto_str verdict = {allowed, sizeof allowed - 1};
    char* text = gd_to_chars(gd_copy(argument));
    if (!report(engine_open())) {
        verdict =
            STR("{}"); /* neither allowed nor blocked: the guardrails are invalid, or there is no engine */
    } else if (guard != NULL && !report(outcome(sotto_guard_check(guard, stage, STR(text), &verdict)))) {
        verdict = STR("{}");
    }
    *result = GD_STATIC("JSON", "parse_string", gd_text(verdict.data, strnlen(verdict.data, verdict.size)));
    free(text);
}
