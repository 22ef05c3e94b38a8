/* A character in C: a session, a line, a loop of frames. CMakeLists.txt beside it builds it. */
#include <stdio.h>

#include <sotto/sotto.h>

#define TEXT(literal) ((sotto_str){literal, SOTTO_NUL})

int main(void) {
    sotto_engine* engine;
    if (sotto_engine_create(NULL, &engine) < 0) {
        fprintf(stderr, "%.*s\n", (int)sotto_last_error().size, sotto_last_error().data);
        return 1;
    }
    sotto_model_desc model = SOTTO_INIT(sotto_model_desc);
    sotto_request loading = 0, answer = 0;
    model.id = TEXT("sotto/house");
    sotto_engine_load_model(engine, &model, &loading);

    sotto_session_desc mara = SOTTO_INIT(sotto_session_desc);
    mara.id = TEXT("mara");
    mara.model = model.id;
    mara.system = TEXT("Name: Mara\nRole: ferrywoman\nPlace: the landing\nPrices:\n- a ferry ride: 3 copper");
    sotto_engine_open_session(engine, &mara, NULL);

    sotto_say_desc say = SOTTO_INIT(sotto_say_desc);
    say.session = mara.id;
    say.text = TEXT("How much is a ferry ride?");
    say.max_tokens = 48;
    say.fields = TEXT("{\"temperature\": 0}");

    sotto_event event = SOTTO_INIT(sotto_event);
    for (int done = 0; !done;) {
        sotto_engine_frame_begin(engine, NULL);
        /* ... the game's work on the frame ... */
        while (sotto_engine_next_event(engine, &event) == SOTTO_OK) {
            if (event.kind == SOTTO_EVENT_TEXT) {
                printf("%.*s", (int)event.text.size, event.text.data);
            } else if (event.status < 0) {
                fprintf(stderr, "%.*s\n", (int)event.error.size, event.error.data);
                done = 1;
            } else if (event.kind == SOTTO_EVENT_REQUEST_DONE && event.request == loading) {
                sotto_engine_say(engine, &say, &answer); /* the model is ready */
            } else if (event.kind == SOTTO_EVENT_REQUEST_DONE && event.request == answer) {
                done = 1;
            }
        }
        sotto_engine_frame_end(engine, NULL);
    }
    printf("\n");
    sotto_engine_destroy(engine);
    return event.status < 0;
}
