#include "serving.h"

#include <math.h>

#define AT(member) .at = offsetof(serve_args, member)

static const option serve_options[] = {
    {.name = "listen",
     .type = OPTION_TEXT,
     AT(listen),
     .value = "HOST:PORT",
     .help = "the address to listen on (default 127.0.0.1:8080); port 0: any free one. "
             "An address that is not of the loopback interface needs --token-file or "
             "--no-auth"},
    {.name = "unix",
     .type = OPTION_PATH,
     AT(socket),
     .value = "PATH",
     .help = "listen on this Unix socket instead"},
    {.name = "compare",
     .type = OPTION_PATH,
     AT(compare),
     .value = "MODEL2",
     .help = "serve a second model beside the first, for comparing them on the page"},
    {.name = "titles",
     .type = OPTION_PATH,
     AT(titles),
     .value = "FILE",
     .help = "a table of ids and titles to show instead of the model's titles"},
    {.name = "users",
     .type = OPTION_PATH,
     AT(users),
     .value = "DATA",
     .help = "keep the histories of these users in memory, so that requests can name a "
             "user; a file as for train"},
    {.name = "mmap",
     .type = OPTION_FLAG,
     AT(mapped),
     .help = "map the weights from the file instead of reading them into memory: less "
             "memory, but the file must never be changed in place"},
    OPTIONS_END};

static const option feedback_options[] = {
    {.name = "journal",
     .type = OPTION_PATH,
     AT(journal),
     .value = "DIR",
     .help = "accept feedback, and keep it in this directory: POST /v1/feedback is "
             "answered when the events are on the disk"},
    {.name = "live",
     .type = OPTION_FLAG,
     AT(live),
     .help =
         "update the model itself by the feedback; needs --users with the data that "
         "the model was trained on, --journal, and a model trained with "
         "--updatable"},
    {.name = "update-every",
     .type = OPTION_POSITIVE,
     AT(update_every),
     .value = "SECONDS",
     .help = "the time between two updates of --live (default 60)"},
    {.name = "save-every",
     .type = OPTION_POSITIVE,
     AT(save_every),
     .value = "SECONDS",
     .help = "with --live, save the updated model to MODEL: after an update if so much "
             "time has passed since it was last saved, and at the end, so that the "
             "next start goes on from there (default: MODEL is never changed)"},
    OPTIONS_END};

static const option trust_options[] = {
    {.name = "token-file",
     .type = OPTION_PATH,
     AT(tokens),
     .value = "FILE",
     .help = "requests must carry one of the tokens in this file, one on each line; "
             "other users must not be able to read it. SIGHUP reads it again"},
    {.name = "no-auth",
     .type = OPTION_FLAG,
     AT(no_auth),
     .help =
         "serve everybody who can connect, under any name of this host: only behind "
         "something that checks who they are"},
    {.name = "allow-origin",
     .type = OPTION_LIST,
     AT(origins),
     .value = "ORIGIN",
     .help = "let pages of this origin, such as https://shop.example, use the server "
             "from a browser (CORS); may be repeated"},
    OPTIONS_END};

static const option limit_options[] = {
    {.name = "max-k",
     .type = OPTION_COUNT,
     AT(most_k),
     .value = "N",
     .least = 1,
     .most = 1000000,
     .help = "longest list (default 1,000)"},
    {.name = "max-batch",
     .type = OPTION_COUNT,
     AT(most_batch),
     .value = "N",
     .least = 1,
     .most = 100000,
     .help = "most requests in a batch (default 256)"},
    {.name = "max-ids",
     .type = OPTION_COUNT,
     AT(most_ids),
     .value = "N",
     .least = 1,
     .most = 10000000,
     .help = "most ids in a history, in allow and in deny (default 10,000)"},
    {.name = "max-events",
     .type = OPTION_COUNT,
     AT(most_events),
     .value = "N",
     .least = 1,
     .most = 100000,
     .help = "most events in one request of feedback (default 1,000)"},
    {.name = "max-header",
     .type = OPTION_SIZE,
     AT(header_bytes),
     .value = "BYTES",
     .help = "largest header of a request (default 16KiB; at most 24KiB)"},
    {.name = "max-body",
     .type = OPTION_SIZE,
     AT(body_bytes),
     .value = "BYTES",
     .help = "largest body of a request (default 1MiB)"},
    {.name = "max-answer",
     .type = OPTION_SIZE,
     AT(answer_bytes),
     .value = "BYTES",
     .help = "longest answer with lists (default 64MiB)"},
    {.name = "max-connections",
     .type = OPTION_COUNT,
     AT(connections),
     .value = "N",
     .least = 1,
     .most = 1000000,
     .help = "most connections (default 4,096)"},
    {.name = "max-per-address",
     .type = OPTION_COUNT,
     AT(of_address),
     .value = "N",
     .least = 1,
     .most = 1000000,
     .help = "most connections of one address other than loopback (default 1,024)"},
    {.name = "header-timeout",
     .type = OPTION_POSITIVE,
     AT(header_seconds),
     .value = "SECONDS",
     .help = "time for the first header of a connection (default 10)"},
    {.name = "body-timeout",
     .type = OPTION_POSITIVE,
     AT(body_seconds),
     .value = "SECONDS",
     .help = "time for the body of a request, and for reading its answer (default 20)"},
    {.name = "idle-timeout",
     .type = OPTION_POSITIVE,
     AT(idle_seconds),
     .value = "SECONDS",
     .help = "time from one request to the end of the next one's header (default 75)"},
    {.name = "request-timeout",
     .type = OPTION_POSITIVE,
     AT(request_seconds),
     .value = "SECONDS",
     .help = "time for making an answer (default 30)"},
    {.name = "grace",
     .type = OPTION_POSITIVE,
     AT(grace),
     .value = "SECONDS",
     .help = "time for requests that are under way after SIGTERM (default 25)"},
    {.name = "shutdown-delay",
     .type = OPTION_POSITIVE,
     AT(shutdown_delay),
     .value = "SECONDS",
     .help =
         "go on for so long after SIGTERM, with /readyz answering 503, before "
         "connections are refused and --grace begins (default: refuse them at once)"},
    OPTIONS_END};

static const option log_options[] = {
    {.name = "log",
     .type = OPTION_CHOICE,
     AT(log),
     .value = "auto|text|json",
     .help = "the form of the log on standard error; auto is text on a terminal, else "
             "one JSON object on each line"},
    {.name = "log-requests",
     .type = OPTION_FLAG,
     AT(log_requests),
     .help = "log every request"},
    OPTIONS_END};

static const option_group groups[] = {{"Serving", serve_options, 0},
                                      {"Feedback", feedback_options, 0},
                                      {"Who may connect", trust_options, 0},
                                      {"Limits", limit_options, 0},
                                      {"Log", log_options, 0},
                                      READING_GROUP(serve_args),
                                      {"General", threads_options, 0},
                                      GROUPS_END};
static const operand operands[] = {{"MODEL", "a model file"}, {NULL, NULL}};
static const char *const usage[] = {
    "MODEL [--listen HOST:PORT] [--users DATA] [options]",
    "MODEL --users DATA --journal DIR [--live] [options]", NULL};
static const char *const examples[] = {
    "model.ease", "model.ease --users ratings.csv --journal feedback",
    "model.ease --listen 0.0.0.0:8080 --token-file tokens",
    "model.ease --compare other.ease --listen 127.0.0.1:8081", NULL};

const verb verb_serve = {
    .name = "serve",
    .summary = "answer requests over HTTP, and show a page in the browser",
    .usage = usage,
    .about =
        "The server answers in JSON: GET /openapi.json describes its interface, and / "
        "is a page for people. Scores are bit-identical to those of ease recommend, "
        "similar and explain.\n\n"
        "A model file that is replaced (SIGHUP and POST /v1/reload do the same) is "
        "opened, verified and swapped in without failing a request; a bad file is "
        "refused and the old model stays. SIGTERM answers what is under way, and ends "
        "the program with exit code 0.\n\n"
        "Without --token-file it listens on the loopback interface only and answers "
        "requests to a name of it. systemd can pass the socket to listen on. The "
        "program that serves is ease-serve, beside this one or on the PATH.",
    .operands = operands,
    .groups = groups,
    .examples = examples,
    .least_operands = 1,
    .most_operands = 1,
    .size = sizeof(serve_args),
    .defaults = &(const serve_args){.reading = READING_DEFAULTS,
                                    .listen = "127.0.0.1:8080",
                                    .update_every = 60,
                                    .grace = 25,
                                    .most_k = 1000,
                                    .most_batch = 256,
                                    .most_ids = 10000,
                                    .most_events = 1000,
                                    .connections = 4096,
                                    .of_address = 1024,
                                    .header_seconds = 10,
                                    .body_seconds = 20,
                                    .idle_seconds = 75,
                                    .request_seconds = 30,
                                    .header_bytes = 16 << 10,
                                    .body_bytes = 1 << 20,
                                    .answer_bytes = 64 << 20},
    .run = serve_run,
};
