/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* hocket for C, and for every language that can call C: dependencies, streams and waits, pipeline schedules, tile
   plans, cost reports. docs/languages.md shows each in a few lines.

   - What makes something gives a status, HOCKET_OK or why not, and takes a hocket_error last, which may be null: after
   a failure it has one sentence, and outputs are as before. Failing for want of memory is a failure like any other.
   - Handles are opaque. Each has a destroy function, which takes null, too. What belongs to a handle says so, and lives
     as long as the handle. A finished handle does not change, so that threads may share it.
   - There is no global state, and no exception leaves the library. A null pointer is bad input, never a crash:
   functions that return a number return 0 for a null handle. Arrays have the length that the function says.
   - Units are in the names: _ns, _us, _ticks (a unit of the caller's), _rows, _bytes; the rest are counts or numbers.
   - The border grows by new functions: no type here and no signature changes within a minor version. */
#ifndef HOCKET_HOCKET_H
#define HOCKET_HOCKET_H

#include <stddef.h>
#include <stdint.h>
#include <hocket/version.hpp> /* HOCKET_VERSION, of this header */

#if defined(__GNUC__)
#define HOCKET_C_API __attribute__((visibility("default")))
#else
#define HOCKET_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors ---------------------------------------------------------------------------------------------------- */

typedef int32_t hocket_status;
enum {
  HOCKET_OK = 0,
  HOCKET_BAD_INPUT = 1,     /* or what was asked for is not feasible */
  HOCKET_OUT_OF_MEMORY = 2, /* nothing has changed */
  HOCKET_WRONG_ORDER = 3,   /* of a check alone: the input is fine, and its order is refuted */
  HOCKET_HOST_FAILED = 4,   /* a function of the caller's returned something else than 0 */
  HOCKET_NOT_BUILT = 5,     /* this library was built without the part */
  HOCKET_INTERNAL = 6       /* a defect of the library: please report it */
};

/* One English sentence without a full stop, ended by 0, which names the offending values. "" after HOCKET_OK. */
typedef struct hocket_error {
  char sentence[1024];
} hocket_error;

/* Of the library that runs: major * 10000 + minor * 100 + patch. HOCKET_VERSION is the header's. */
HOCKET_C_API uint32_t hocket_version(void);
/* "bad input" for HOCKET_BAD_INPUT, and so on. A literal. */
HOCKET_C_API const char* hocket_status_name(hocket_status status);

/* Text that the library made, ended by 0, which the caller destroys. */
HOCKET_C_API void hocket_text_destroy(char* text);

/* ---- programs: what each op reads and writes ------------------------------------------------------------------- */

/* Ops in program order, numbered from 0. A program is filled by one thread, and then is as good as constant. */
typedef struct hocket_program hocket_program;

enum { HOCKET_READ = 0, HOCKET_WRITE = 1 };
enum { HOCKET_COMPUTE = 0, HOCKET_COLLECTIVE = 1, HOCKET_RANDOM = 2, HOCKET_IO = 3 };

HOCKET_C_API hocket_status hocket_program_create(size_t op_count, hocket_program** out, hocket_error* error);
HOCKET_C_API void hocket_program_destroy(hocket_program* program);
HOCKET_C_API size_t hocket_program_op_count(const hocket_program* program);

/* Op ops[i] reads (or writes) variables[i], any number of the caller's: count accesses, in any order. An op that
   updates in place does both. access: HOCKET_READ or HOCKET_WRITE. */
HOCKET_C_API hocket_status hocket_program_add_variables(hocket_program* program, int access, size_t count,
                                                        const uint32_t* ops, const uint64_t* variables,
                                                        hocket_error* error);
/* The same where variables share memory: bytes [first_bytes[i], end_bytes[i]) of a space, which is a device, a buffer
   or a file. Ops that overlap are in conflict. */
HOCKET_C_API hocket_status hocket_program_add_bytes(hocket_program* program, int access, size_t count,
                                                    const uint32_t* ops, const uint64_t* spaces,
                                                    const uint64_t* first_bytes, const uint64_t* end_bytes,
                                                    hocket_error* error);
/* The same for strided views, as tensor libraries describe them. first_bytes: of the item with all indices 0. View i
   has dimensions[i] (at most 16) sizes and strides, both in items; those of view 0 come first. Views without items
   touch nothing. Up to 64 runs of bytes are exact; beyond, one run covers the view. */
HOCKET_C_API hocket_status hocket_program_add_views(hocket_program* program, int access, size_t count,
                                                    const uint32_t* ops, const uint64_t* spaces,
                                                    const uint64_t* first_bytes, const uint32_t* item_bytes,
                                                    const uint32_t* dimensions, const int64_t* sizes,
                                                    const int64_t* strides, hocket_error* error);
/* What the ops use besides: one HOCKET_COMPUTE … HOCKET_IO an op, compute for those of which nothing was said. */
HOCKET_C_API hocket_status hocket_program_set_kinds(hocket_program* program, size_t count, const uint32_t* ops,
                                                    const uint8_t* kinds, hocket_error* error);

/* ---- graphs: which op must run before which -------------------------------------------------------------------- */

typedef struct hocket_graph hocket_graph;

/* Orders beyond those of reads and writes, to be combined by |. */
enum {
  HOCKET_CHAIN_COLLECTIVES = 1, /* collectives in program order, so that ranks enter them alike */
  HOCKET_CHAIN_RANDOM = 2,      /* random ops in program order, so that their numbers repeat */
  HOCKET_CHAIN_IO = 4,
  HOCKET_CHAIN_ALL = 8 /* every op: to hunt a missing dependency */
};

/* The dependencies of a program, without those that others imply. Linear in the accesses. chains: 0, or HOCKET_CHAIN_…
 */
HOCKET_C_API hocket_status hocket_graph_create(const hocket_program* program, uint32_t chains, hocket_graph** out,
                                               hocket_error* error);
/* A graph of edges that are known: sources[i] before targets[i]. If they close a cycle, the sentence has it, and cycle
   receives its first nodes, up to cycle_capacity, and cycle_count their number; both may be null. */
HOCKET_C_API hocket_status hocket_graph_from_edges(size_t node_count, size_t edge_count, const uint32_t* sources,
                                                   const uint32_t* targets, uint32_t* cycle, size_t cycle_capacity,
                                                   size_t* cycle_count, hocket_graph** out, hocket_error* error);
HOCKET_C_API void hocket_graph_destroy(hocket_graph* graph);
HOCKET_C_API size_t hocket_graph_node_count(const hocket_graph* graph);
HOCKET_C_API size_t hocket_graph_edge_count(const hocket_graph* graph);      /* kept: no others imply them */
HOCKET_C_API size_t hocket_graph_rule_edge_count(const hocket_graph* graph); /* before pruning */
/* The kept edges by source, then target, into arrays of hocket_graph_edge_count. */
HOCKET_C_API hocket_status hocket_graph_edges(const hocket_graph* graph, uint32_t* sources, uint32_t* targets,
                                              hocket_error* error);
/* answers[i] = 1 if sources[i] must be done before targets[i] starts, else 0. Constant time a pair. */
HOCKET_C_API hocket_status hocket_graph_reaches(const hocket_graph* graph, size_t count, const uint32_t* sources,
                                                const uint32_t* targets, uint8_t* answers, hocket_error* error);
/* Why: a path of kept edges from source to target, both included. path receives up to capacity nodes, *count how many
   there are; 0 if source does not reach target. */
HOCKET_C_API hocket_status hocket_graph_path(const hocket_graph* graph, uint32_t source, uint32_t target,
                                             uint32_t* path, size_t capacity, size_t* count, hocket_error* error);
/* Why a kept edge is there: the rule as words ("read after write"; a literal), and the variable or the space.
   Bad input if the edge is not kept, or the graph was made of edges. subject may be null. */
HOCKET_C_API hocket_status hocket_graph_why(const hocket_graph* graph, uint32_t source, uint32_t target,
                                            const char** rule, uint64_t* subject, hocket_error* error);

/* ---- plans: on which streams, with which waits ----------------------------------------------------------------- */

typedef struct hocket_plan hocket_plan;

/* An event: recorded right after one op, waited for right before another, which runs on another stream. */
typedef struct hocket_wait {
  uint32_t recorder;
  uint32_t waiter;
} hocket_wait;

/* The fewest waits for ops on given streams: one an op, below 65,536. */
HOCKET_C_API hocket_status hocket_plan_create(const hocket_graph* graph, const uint32_t* stream_of, hocket_plan** out,
                                              hocket_error* error);
/* The same with the ops put on at most stream_count streams. durations_ns: one an op, or null if they are not known. */
HOCKET_C_API hocket_status hocket_plan_assign(const hocket_graph* graph, uint32_t stream_count,
                                              const int64_t* durations_ns, hocket_plan** out, hocket_error* error);
HOCKET_C_API void hocket_plan_destroy(hocket_plan* plan);
HOCKET_C_API size_t hocket_plan_op_count(const hocket_plan* plan);
HOCKET_C_API size_t hocket_plan_stream_count(const hocket_plan* plan);
HOCKET_C_API size_t hocket_plan_event_count(const hocket_plan* plan); /* that hocket_plan_drive needs at a time */
HOCKET_C_API size_t hocket_plan_wait_count(const hocket_plan* plan);
HOCKET_C_API size_t hocket_plan_cross_stream_edge_count(const hocket_plan* plan); /* waits if each such edge had one */
HOCKET_C_API const uint32_t* hocket_plan_streams(const hocket_plan* plan);        /* one an op; the plan's */
HOCKET_C_API const hocket_wait* hocket_plan_waits(const hocket_plan* plan); /* by waiter, then recorder; the plan's */
/* How long the step takes by the durations of hocket_plan_assign; -1 if there were none. */
HOCKET_C_API int64_t hocket_plan_duration_ns(const hocket_plan* plan);

/* Issues the plan: calls launch for each op in program order, with record and wait between them. Streams and events are
   numbers from 0; events are used again. A function that does not return 0 ends it: HOCKET_HOST_FAILED, *issued calls
   were made before, and *host_status is what it returned. Both may be null. A function of C++ that throws ends it, too:
   then *host_status is -1, and the sentence names the function. It must not leave by longjmp. */
typedef int (*hocket_launch_function)(void* context, uint32_t op, uint32_t stream);
typedef int (*hocket_record_function)(void* context, uint32_t event, uint32_t stream);
typedef int (*hocket_wait_function)(void* context, uint32_t stream, uint32_t event);
HOCKET_C_API hocket_status hocket_plan_drive(const hocket_plan* plan, void* context, hocket_launch_function launch,
                                             hocket_record_function record, hocket_wait_function wait, size_t* issued,
                                             int* host_status, hocket_error* error);

/* Proves or refutes an order, whoever made it: ops issued in program order on these streams, with these waits, by
   ascending waiter. It compares all pairs of accesses that meet, and so trusts no plan. chains as in
   hocket_graph_create. HOCKET_WRONG_ORDER: the sentence and pair, which may be null, have the first two ops that should
   be ordered and are not. */
HOCKET_C_API hocket_status hocket_check_order(const hocket_program* program, uint32_t chains, const uint32_t* stream_of,
                                              size_t wait_count, const hocket_wait* waits, uint32_t pair[2],
                                              hocket_error* error);

/* ---- schedules: in which order each pipeline rank runs its pieces ---------------------------------------------- */

typedef struct hocket_schedule hocket_schedule;

HOCKET_C_API size_t hocket_schedule_name_count(void);
HOCKET_C_API const char* hocket_schedule_name(size_t index); /* "gpipe", "1f1b", …: literals; null beyond the last */

/* A schedule by name. chunks: of the model on a rank; 0: what the schedule usually has. groups (null: "balanced"),
   kappa (0: as the groups prefer) and memory_cap (0: any; a count of activations) are for interleaved, slices (0: 1)
   for seq-1f1b; docs/pipeline.md says what they are. */
HOCKET_C_API hocket_status hocket_schedule_create(const char* name, int64_t ranks, int64_t chunks,
                                                  int64_t micro_batches, const char* groups, uint32_t kappa,
                                                  int64_t memory_cap, int64_t slices, hocket_schedule** out,
                                                  hocket_error* error);
/* The lists of a CSV in PyTorch's pipeline dialect, of text_bytes bytes. */
HOCKET_C_API hocket_status hocket_schedule_parse(const char* text, size_t text_bytes, hocket_schedule** out,
                                                 hocket_error* error);
HOCKET_C_API void hocket_schedule_destroy(hocket_schedule* schedule);
HOCKET_C_API uint32_t hocket_schedule_ranks(const hocket_schedule* schedule);
HOCKET_C_API uint32_t hocket_schedule_chunks(const hocket_schedule* schedule);
HOCKET_C_API uint32_t hocket_schedule_micro_batches(const hocket_schedule* schedule);
HOCKET_C_API uint32_t hocket_schedule_slices(const hocket_schedule* schedule);
/* The same number for the same lists, on every rank and machine. */
HOCKET_C_API uint64_t hocket_schedule_fingerprint(const hocket_schedule* schedule);

/* One step of a rank's list. */
typedef struct hocket_action {
  uint32_t kind; /* see hocket_action_name */
  uint32_t stage;
  uint32_t micro_batch;
  uint32_t slice;
  uint32_t direction; /* 1 for the reversed pipeline of dualpipe */
  uint32_t joined;    /* 1: it runs at the same time as the next one */
} hocket_action;

HOCKET_C_API const char* hocket_action_name(uint32_t kind); /* "forward", …: literals; null beyond the last */
/* How many actions the list of a rank has; 0 for a rank that is not there. */
HOCKET_C_API size_t hocket_schedule_length(const hocket_schedule* schedule, uint32_t rank);
/* The whole list of a rank, into an array of hocket_schedule_length actions. */
HOCKET_C_API hocket_status hocket_schedule_list(const hocket_schedule* schedule, uint32_t rank, hocket_action* actions,
                                                hocket_error* error);
/* All lists in PyTorch's dialect. */
HOCKET_C_API hocket_status hocket_schedule_csv(const hocket_schedule* schedule, char** text, hocket_error* error);

/* One link of a deadlock: rank cannot start action, which needs one that stands further down in the list of holder. */
typedef struct hocket_blocked {
  uint32_t rank;
  uint32_t holder;
  hocket_action action;
  hocket_action needs;
} hocket_blocked;

/* Whether the lists are complete and never block for ever. HOCKET_WRONG_ORDER for a deadlock: the sentence has the
   shortest cycle; cycle receives its first links, up to capacity, *count their number; both may be null. */
HOCKET_C_API hocket_status hocket_schedule_check(const hocket_schedule* schedule, hocket_blocked* cycle,
                                                 size_t capacity, size_t* count, hocket_error* error);

/* Times of a chunk (of one of the stages) in ticks of the caller's, none negative. */
typedef struct hocket_times {
  int64_t forward_ticks;
  int64_t input_grad_ticks;  /* of a backward's first half */
  int64_t weight_grad_ticks; /* of its second half */
  int64_t backward_ticks;    /* of a whole backward; -1: the sum of its halves */
  int64_t hop_ticks;         /* from one rank to another */
} hocket_times;

typedef struct hocket_rank_run {
  int64_t busy_ticks;
  int64_t idle_ticks;
  int64_t finish_ticks;
  int64_t peak_in_flight; /* activations, most at a time */
} hocket_rank_run;

/* Runs the lists. times: null for 1 tick each and no hop. ranks: an array of hocket_schedule_ranks entries, or null.
   makespan_ticks and lower_bound_ticks (no order of the same actions is shorter) may be null. HOCKET_WRONG_ORDER for a
   deadlock. */
HOCKET_C_API hocket_status hocket_schedule_simulate(const hocket_schedule* schedule, const hocket_times* times,
                                                    hocket_rank_run* ranks, int64_t* makespan_ticks,
                                                    int64_t* lower_bound_ticks, hocket_error* error);

/* ---- ranks: will the collectives and transfers of all ranks finish? --------------------------------------------- */

/* The ranks of a job besides the pipeline's, each at least 1. Tensor ranks are next to each other; expert divides
   context * data. */
typedef struct hocket_mesh {
  uint32_t tensor;
  uint32_t context;
  uint32_t data;
  uint32_t expert;
} hocket_mesh;

/* What all ranks of a job call that runs the schedule on a mesh (null: pipeline ranks alone), as CSV (docs/ranks.md).
 */
HOCKET_C_API hocket_status hocket_schedule_program(const hocket_schedule* schedule, const hocket_mesh* mesh, char** csv,
                                                   hocket_error* error);

enum {
  HOCKET_SAFE = 0,      /* it finishes, whatever the timing: proved */
  HOCKET_MISMATCH = 1,  /* calls that should meet do not fit */
  HOCKET_HANGS = 2,     /* it hangs, whatever the timing: proved */
  HOCKET_MAY_HANG = 3,  /* a timing that hangs was found and run */
  HOCKET_NOT_PROVED = 4 /* neither found a timing that hangs nor proved that there is none */
};

/* Whether a program of ranks finishes. csv: as above, or written by the caller. machine: null or "nccl",
   "nccl-implicit-order", …: those of `hocket ranks machines`. slots: calls that surely run at once on a device; 0: any
   number, -1: as the machine says. told, which may be null: the verdict with who waits for whom, one line each. */
HOCKET_C_API hocket_status hocket_ranks_check(const char* csv, size_t csv_bytes, const char* machine, int64_t slots,
                                              int* verdict, char** told, hocket_error* error);

/* Why a job hangs, from the Flight Recorder dumps of PyTorch on its ranks: which rank has not come to which call, which
   calls differ. records_json: an object of a dump for each rank, {"0": {"entries": [...]}, "1": ...}, ended by 0. told
   begins with "nothing open", "mismatch", "never comes", "cycle", "no record" or "all came", and a colon.
   HOCKET_NOT_BUILT, and want of memory: as hocket_cost_report. */
HOCKET_C_API hocket_status hocket_ranks_hang(const char* records_json, char** told, hocket_error* error);

/* ---- tilings: how to cut a fused operator ---------------------------------------------------------------------- */

/* A problem is made, gets its phases, and is solved. */
typedef struct hocket_tiling hocket_tiling;
typedef struct hocket_tile_plan hocket_tile_plan;

enum { HOCKET_PHASE_COMPUTE = 0, HOCKET_PHASE_COMM = 1 };

/* rows: of the axis that is cut, into at most max_tiles tiles (0: 16) of multiples of align_rows (0: 128). */
HOCKET_C_API hocket_status hocket_tiling_create(int64_t rows, int64_t align_rows, int64_t max_tiles,
                                                hocket_tiling** out, hocket_error* error);
HOCKET_C_API void hocket_tiling_destroy(hocket_tiling* tiling);
/* The matrix product behind the operator, which the policies "documented" and "pinned" need. */
HOCKET_C_API hocket_status hocket_tiling_set_product(hocket_tiling* tiling, int64_t k, int64_t n, int64_t element_bytes,
                                                     hocket_error* error);
/* The next phase that each tile goes through, with its time over rows: fixed_us + us_per_row * rows; fewer than
   min_rows cost as min_rows. overlap: by how much tiles take longer when there are several. It is 1 (not at all) or
   more; less is refused. */
HOCKET_C_API hocket_status hocket_tiling_add_affine(hocket_tiling* tiling, int phase, double fixed_us,
                                                    double us_per_row, double min_rows, double overlap,
                                                    hocket_error* error);
/* The same from measured points, ascending in rows and never falling in time, with straight lines between them. */
HOCKET_C_API hocket_status hocket_tiling_add_table(hocket_tiling* tiling, int phase, size_t count, const double* rows,
                                                   const double* us, double overlap, hocket_error* error);
/* The same from measured points in any order, repeated and falling ones included: the never-falling curve that is
   nearest to them. mean_error, which may be null, says how near: relative. */
HOCKET_C_API hocket_status hocket_tiling_add_samples(hocket_tiling* tiling, int phase, size_t count, const double* rows,
                                                     const double* us, double overlap, double* mean_error,
                                                     hocket_error* error);
/* policy: null or "auto", "exact", "uniform", "one-plus-n", "lot", "documented", "documented-min", "none", "pinned". */
HOCKET_C_API hocket_status hocket_tiling_solve(const hocket_tiling* tiling, const char* policy, hocket_tile_plan** out,
                                               hocket_error* error);
HOCKET_C_API void hocket_tile_plan_destroy(hocket_tile_plan* plan);
HOCKET_C_API size_t hocket_tile_plan_count(const hocket_tile_plan* plan);
HOCKET_C_API const int64_t* hocket_tile_plan_rows(const hocket_tile_plan* plan); /* in execution order; the plan's */
HOCKET_C_API double hocket_tile_plan_predicted_us(const hocket_tile_plan* plan);
HOCKET_C_API double hocket_tile_plan_serial_us(const hocket_tile_plan* plan); /* not cut */
HOCKET_C_API double hocket_tile_plan_lower_bound_us(
    const hocket_tile_plan* plan);                                              /* no tiling takes less; 0: unknown */
HOCKET_C_API const char* hocket_tile_plan_policy(const hocket_tile_plan* plan); /* who decided; a literal */
/* What else there is to say, such as "uncut", "optimal", "extrapolated": literals; null beyond the last. */
HOCKET_C_API const char* hocket_tile_plan_flag(const hocket_tile_plan* plan, size_t index);

/* ---- costs: FLOPs, bytes, seconds ------------------------------------------------------------------------------ */

/* The report of `hocket cost report`, from the texts of its files: a Hugging Face config.json, the training step and
   the parallel layout (docs/cost.md); the last two may be null, the third needs the second. Each is ended by 0. format:
   null or "json", "text", "latex". HOCKET_NOT_BUILT where the library was made without Boost.Hana and nlohmann-json.
   The one function that may end the program for want of memory: nlohmann-json allocates where it destroys. */
HOCKET_C_API hocket_status hocket_cost_report(const char* model_json, const char* training_json,
                                              const char* parallel_json, const char* format, char** text,
                                              hocket_error* error);

/* The plan of one training step as JSON: memory of each rank, schedule, split, predicted step, as report.json of
   `hocket plan`. plan_json: a plan file (docs/plan.md) without "graph"; model_json: the config.json that it names. Both
   are ended by 0. Else as hocket_cost_report. */
HOCKET_C_API hocket_status hocket_plan_step(const char* plan_json, const char* model_json, char** text,
                                            hocket_error* error);

#ifdef __cplusplus
}
#endif
#endif
