/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Schedules, tilings, costs. */
#include <math.h>

#include "check.h"

/* ---- schedules ------------------------------------------------------------------------------------------------- */

/* Whether each rank runs each forward of its stages once, and its backward, or both halves of it. */
static void check_lists(const hocket_schedule* s) {
  const uint32_t ranks = hocket_schedule_ranks(s);
  size_t forwards = 0, inputs = 0, weights = 0, i, length;
  uint32_t r;
  for (r = 0; r < ranks; ++r) {
    hocket_action* list;
    length = hocket_schedule_length(s, r);
    list = malloc(length * sizeof *list);
    OK(hocket_schedule_list(s, r, list, &why));
    for (i = 0; i < length; ++i) {
      const char* const name = hocket_action_name(list[i].kind);
      CHECK(list[i].stage < ranks * hocket_schedule_chunks(s));
      forwards += strcmp(name, "forward") == 0;
      inputs += strcmp(name, "input_grad") == 0 || strcmp(name, "backward") == 0;
      weights += strcmp(name, "weight_grad") == 0 || strcmp(name, "backward") == 0;
    }
    free(list);
  }
  CHECK(forwards == inputs && inputs == weights && forwards > 0);
}

static void test_each_schedule(void) {
  size_t i;
  CHECK(hocket_schedule_name_count() == 14);
  for (i = 0; i < hocket_schedule_name_count(); ++i) {
    hocket_schedule *s = NULL, *again = NULL;
    hocket_rank_run ranks[4];
    int64_t makespan = 0, bound = 0;
    char* text = NULL;
    int r;
    OK(hocket_schedule_create(hocket_schedule_name(i), 4, 0, 8, NULL, 0, 0, 0, &s, &why));
    CHECK(hocket_schedule_ranks(s) == 4 && hocket_schedule_slices(s) == 1);
    CHECK(hocket_schedule_micro_batches(s) == 8 || strcmp(hocket_schedule_name(i), "dualpipe") == 0);
    check_lists(s);
    OK(hocket_schedule_check(s, NULL, 0, NULL, &why));
    OK(hocket_schedule_simulate(s, NULL, ranks, &makespan, &bound, &why));
    CHECK(bound > 0 && makespan >= bound);
    for (r = 0; r < 4; ++r) CHECK(ranks[r].busy_ticks + ranks[r].idle_ticks == makespan && ranks[r].peak_in_flight > 0);
    OK(hocket_schedule_csv(s, &text, &why));
    OK(hocket_schedule_parse(text, strlen(text), &again, &why));
    CHECK(hocket_schedule_fingerprint(again) == hocket_schedule_fingerprint(s));
    hocket_text_destroy(text);
    hocket_schedule_destroy(again);
    hocket_schedule_destroy(s);
  }
  CHECK(hocket_schedule_name(i) == NULL);
}

static void test_ranks(void) {
  const hocket_mesh mesh = {2, 1, 2, 2}, wrong = {1, 1, 3, 2};
  const char* const crossed =
      "rank,op,communicator\n0-1,communicator,a\n0-1,communicator,b\n"
      "0,all_reduce,a\n0,all_reduce,b\n1,all_reduce,b\n1,all_reduce,a\n";
  hocket_schedule* s = NULL;
  char *csv = NULL, *told = NULL;
  int verdict = -1;
  OK(hocket_schedule_create("interleaved", 4, 2, 8, NULL, 0, 0, 0, &s, &why));
  OK(hocket_schedule_program(s, &mesh, &csv, &why));
  OK(hocket_ranks_check(csv, strlen(csv), NULL, 0, &verdict, &told, &why));
  CHECK(verdict == HOCKET_SAFE && strstr(told, "safe: ") == told);
  hocket_text_destroy(told);
  OK(hocket_ranks_check(csv, strlen(csv), "gloo", -1, &verdict, NULL, &why));
  CHECK(verdict == HOCKET_SAFE);
  hocket_text_destroy(csv);
  csv = told = NULL;
  OK(hocket_schedule_program(s, NULL, &csv, &why));
  CHECK(strstr(csv, "tensor") == NULL && strstr(csv, "pipeline") != NULL);
  hocket_text_destroy(csv);
  csv = NULL;
  OK(hocket_ranks_check(crossed, strlen(crossed), "nccl", -1, &verdict, &told, &why));
  CHECK(verdict == HOCKET_HANGS && strstr(told, "waits for") != NULL);
  hocket_text_destroy(told);
  told = NULL;
  verdict = -1;
  REFUSED(HOCKET_BAD_INPUT, "context x data: 3 is not divisible", hocket_schedule_program(s, &wrong, &csv, &why));
  REFUSED(HOCKET_BAD_INPUT, "schedule is a null", hocket_schedule_program(NULL, &mesh, &csv, &why));
  REFUSED(HOCKET_BAD_INPUT, "csv is a null", hocket_schedule_program(s, &mesh, NULL, &why));
  REFUSED(HOCKET_BAD_INPUT, "csv is a null", hocket_ranks_check(NULL, 3, NULL, -1, &verdict, NULL, &why));
  REFUSED(HOCKET_BAD_INPUT, "verdict is a null", hocket_ranks_check(crossed, 3, NULL, -1, NULL, NULL, &why));
  REFUSED(HOCKET_BAD_INPUT, "\"ncl\" is not known",
          hocket_ranks_check(crossed, strlen(crossed), "ncl", -1, &verdict, &told, &why));
  REFUSED(HOCKET_BAD_INPUT, "slots is -2",
          hocket_ranks_check(crossed, strlen(crossed), NULL, -2, &verdict, &told, &why));
  REFUSED(HOCKET_BAD_INPUT, "\"x\" is not understood", hocket_ranks_check("x", 1, NULL, -1, &verdict, &told, &why));
  CHECK(csv == NULL && told == NULL && verdict == -1);
  hocket_schedule_destroy(s);
}

static void test_deadlock(void) {
  const char* const wrong = "0F0,0B0\n1B0,1F0\n";
  hocket_schedule* s = NULL;
  hocket_blocked cycle[2];
  size_t count = 0;
  int64_t makespan = -5;
  OK(hocket_schedule_create("interleaved", 5, 2, 7, "paper", 0, 0, 0, &s, &why));
  REFUSED(HOCKET_WRONG_ORDER, " stands before ", hocket_schedule_check(s, cycle, 2, &count, &why));
  CHECK(count >= 2 && cycle[0].rank < 5 && cycle[0].holder < 5 && cycle[0].action.stage < 10);
  REFUSED(HOCKET_WRONG_ORDER, " stands before ", hocket_schedule_simulate(s, NULL, NULL, &makespan, NULL, &why));
  CHECK(makespan == -5);
  hocket_schedule_destroy(s);
  OK(hocket_schedule_parse(wrong, strlen(wrong), &s, &why));
  REFUSED(HOCKET_WRONG_ORDER, "rank 1 stands before 1B0 and waits for 1F0 of rank 1",
          hocket_schedule_check(s, NULL, 0, &count, &why));
  hocket_schedule_destroy(s);
  OK(hocket_schedule_parse("0F0", 3, &s, &why));
  REFUSED(HOCKET_BAD_INPUT, "0", hocket_schedule_check(s, NULL, 0, &count, &why));
  hocket_schedule_destroy(s);
}

void test_schedules(void) {
  const hocket_times times = {1, 1, 1, -1, 0}, fused = {1, 0, 0, 1, 0}, huge = {1, INT64_MAX, 1, -1, 0},
                     negative = {-1, 1, 1, -1, 0};
  hocket_schedule* s = NULL;
  hocket_action a;
  int64_t makespan = 0, bound = 0;
  char* text = NULL;
  OK(hocket_schedule_create("gpipe", 4, 0, 8, NULL, 0, 0, 0, &s, &why));
  OK(hocket_schedule_simulate(s, &times, NULL, &makespan, &bound, &why));
  CHECK(makespan == (8 + 4 - 1) * 3); /* GPipe's own formula */
  REFUSED(HOCKET_BAD_INPUT, "weight_grad_ticks", hocket_schedule_simulate(s, &huge, NULL, NULL, NULL, &why));
  REFUSED(HOCKET_BAD_INPUT, "-1", hocket_schedule_simulate(s, &negative, NULL, NULL, NULL, &why));
  REFUSED(HOCKET_BAD_INPUT, "no rank 4", hocket_schedule_list(s, 4, &a, &why));
  REFUSED(HOCKET_BAD_INPUT, "actions is a null", hocket_schedule_list(s, 0, NULL, &why));
  REFUSED(HOCKET_BAD_INPUT, "text is a null", hocket_schedule_csv(s, NULL, &why));
  CHECK(hocket_schedule_length(s, 4) == 0);
  hocket_schedule_destroy(s);
  OK(hocket_schedule_create("interleaved", 4, 2, 9, "balanced", 0, 0, 0, &s, &why));
  OK(hocket_schedule_simulate(s, &fused, NULL, &makespan, &bound, &why));
  CHECK(makespan == 42 && bound == 42); /* docs/pipeline.md: (f+b)(v max(m,p) + p - 1) */
  hocket_schedule_destroy(s);
  OK(hocket_schedule_create("seq-1f1b", 2, 1, 4, NULL, 0, 0, 3, &s, &why));
  CHECK(hocket_schedule_slices(s) == 3);
  hocket_schedule_destroy(s);
  s = NULL;

  REFUSED(HOCKET_BAD_INPUT, "zbw", hocket_schedule_create("zbw", 4, 0, 8, NULL, 0, 0, 0, &s, &why));
  REFUSED(HOCKET_BAD_INPUT, "groups", hocket_schedule_create("gpipe", 4, 0, 8, "paper", 0, 0, 0, &s, &why));
  REFUSED(HOCKET_BAD_INPUT, "some", hocket_schedule_create("interleaved", 4, 2, 8, "some", 0, 0, 0, &s, &why));
  REFUSED(HOCKET_BAD_INPUT, "at least 1", hocket_schedule_create("gpipe", 0, 0, 8, NULL, 0, 0, 0, &s, &why));
  REFUSED(HOCKET_BAD_INPUT, "kappa", hocket_schedule_create("gpipe", 4, 0, 8, NULL, 1, 0, 0, &s, &why));
  REFUSED(HOCKET_BAD_INPUT, "memory cap", hocket_schedule_create("gpipe", 4, 0, 8, NULL, 0, 5, 0, &s, &why));
  REFUSED(HOCKET_BAD_INPUT, "slices", hocket_schedule_create("gpipe", 4, 0, 8, NULL, 0, 0, 2, &s, &why));
  REFUSED(HOCKET_BAD_INPUT, "name is a null", hocket_schedule_create(NULL, 4, 0, 8, NULL, 0, 0, 0, &s, &why));
  REFUSED(HOCKET_BAD_INPUT, "out is a null", hocket_schedule_create("gpipe", 4, 0, 8, NULL, 0, 0, 0, NULL, &why));
  REFUSED(HOCKET_BAD_INPUT, "0X0", hocket_schedule_parse("0X0", 3, &s, &why));
  REFUSED(HOCKET_BAD_INPUT, "text is a null", hocket_schedule_parse(NULL, 3, &s, &why));
  REFUSED(HOCKET_BAD_INPUT, "", hocket_schedule_parse("", 0, &s, &why));
  REFUSED(HOCKET_BAD_INPUT, "out is a null", hocket_schedule_parse("0F0", 3, NULL, &why));
  REFUSED(HOCKET_BAD_INPUT, "schedule is a null", hocket_schedule_list(NULL, 0, &a, &why));
  REFUSED(HOCKET_BAD_INPUT, "schedule is a null", hocket_schedule_csv(NULL, &text, &why));
  REFUSED(HOCKET_BAD_INPUT, "schedule is a null", hocket_schedule_check(NULL, NULL, 0, NULL, &why));
  REFUSED(HOCKET_BAD_INPUT, "schedule is a null", hocket_schedule_simulate(NULL, NULL, NULL, NULL, NULL, &why));
  CHECK(s == NULL && text == NULL);
  CHECK(hocket_schedule_ranks(NULL) == 0 && hocket_schedule_chunks(NULL) == 0 && hocket_schedule_slices(NULL) == 0);
  CHECK(hocket_schedule_micro_batches(NULL) == 0 && hocket_schedule_fingerprint(NULL) == 0);
  CHECK(hocket_schedule_length(NULL, 0) == 0);
  CHECK(strcmp(hocket_action_name(0), "forward") == 0 && hocket_action_name(17) == NULL);
  hocket_schedule_destroy(NULL);
  test_each_schedule();
  test_deadlock();
  test_ranks();
}

/* ---- tilings --------------------------------------------------------------------------------------------------- */

static double compute_us(double rows) { return 6 + 0.2 * rows; }
static double comm_us(double rows) { return 20 + 0.25 * rows; }

/* The least time over all cuts of 1024 rows into units of 128, tile by tile. */
static double least_us(void) {
  double least = 1e300;
  unsigned cuts;
  for (cuts = 0; cuts < 128; ++cuts) {
    double compute = 0, comm = 0, rows = 0;
    const double overlap = cuts == 0 ? 1 : 1.15;
    unsigned i;
    for (i = 0; i < 8; ++i) {
      rows += 128;
      if (i < 7 && (cuts >> i & 1u) == 0) continue;
      compute += overlap * compute_us(rows);
      comm = (comm > compute ? comm : compute) + overlap * comm_us(rows);
      rows = 0;
    }
    if (comm < least) least = comm;
  }
  return least;
}

static hocket_tiling* problem(double overlap) {
  hocket_tiling* t = NULL;
  OK(hocket_tiling_create(1024, 128, 8, &t, &why));
  OK(hocket_tiling_add_affine(t, HOCKET_PHASE_COMPUTE, 6, 0.2, 0, overlap, &why));
  OK(hocket_tiling_add_affine(t, HOCKET_PHASE_COMM, 20, 0.25, 0, overlap, &why));
  return t;
}

static void test_tables(void) {
  const double rows[] = {128, 1024}, mixed[] = {1024, 128, 128}, falling[] = {5, 4}, negative[] = {-1, 5};
  double us[2], mixed_us[3], off = 9;
  hocket_tiling* t = NULL;
  hocket_tile_plan *straight = NULL, *table = NULL, *samples = NULL;
  us[0] = compute_us(128);
  us[1] = compute_us(1024);
  mixed_us[0] = us[1];
  mixed_us[1] = mixed_us[2] = us[0];
  t = problem(1);
  OK(hocket_tiling_solve(t, "exact", &straight, &why));
  hocket_tiling_destroy(t);
  OK(hocket_tiling_create(1024, 0, 8, &t, &why));
  REFUSED(HOCKET_BAD_INPUT, "falls", hocket_tiling_add_table(t, 0, 2, rows, falling, 1, &why));
  REFUSED(HOCKET_BAD_INPUT, "number of times", hocket_tiling_add_table(t, 0, 0, rows, us, 1, &why));
  REFUSED(HOCKET_BAD_INPUT, "rows is a null", hocket_tiling_add_table(t, 0, 2, NULL, us, 1, &why));
  REFUSED(HOCKET_BAD_INPUT, "us is a null", hocket_tiling_add_samples(t, 0, 2, rows, NULL, 1, &off, &why));
  REFUSED(HOCKET_BAD_INPUT, "", hocket_tiling_add_samples(t, 0, 2, rows, negative, 1, &off, &why));
  REFUSED(HOCKET_BAD_INPUT, "overlap", hocket_tiling_add_samples(t, 0, 3, mixed, mixed_us, -1, &off, &why));
  CHECK(off == 9);
  OK(hocket_tiling_add_table(t, HOCKET_PHASE_COMPUTE, 2, rows, us, 1, &why));
  OK(hocket_tiling_add_affine(t, HOCKET_PHASE_COMM, 20, 0.25, 0, 1, &why));
  OK(hocket_tiling_solve(t, "exact", &table, &why));
  hocket_tiling_destroy(t);
  OK(hocket_tiling_create(1024, 0, 8, &t, &why));
  OK(hocket_tiling_add_samples(t, HOCKET_PHASE_COMPUTE, 3, mixed, mixed_us, 1, &off, &why));
  OK(hocket_tiling_add_affine(t, HOCKET_PHASE_COMM, 20, 0.25, 0, 1, &why));
  OK(hocket_tiling_solve(t, "exact", &samples, &why));
  hocket_tiling_destroy(t);
  CHECK(off < 1e-9);
  CHECK(fabs(hocket_tile_plan_predicted_us(table) - hocket_tile_plan_predicted_us(straight)) < 1e-3);
  CHECK(fabs(hocket_tile_plan_predicted_us(samples) - hocket_tile_plan_predicted_us(straight)) < 1e-3);
  hocket_tile_plan_destroy(straight);
  hocket_tile_plan_destroy(table);
  hocket_tile_plan_destroy(samples);
}

void test_tilings(void) {
  hocket_tiling* t = NULL;
  hocket_tile_plan* plan = NULL;
  size_t i;
  int64_t rows = 0;
  REFUSED(HOCKET_BAD_INPUT, "rows is 0", hocket_tiling_create(0, 128, 8, &t, &why));
  REFUSED(HOCKET_BAD_INPUT, "align", hocket_tiling_create(1024, -1, 8, &t, &why));
  REFUSED(HOCKET_BAD_INPUT, "max_tiles", hocket_tiling_create(1024, 0, 1000, &t, &why));
  REFUSED(HOCKET_BAD_INPUT, "out is a null", hocket_tiling_create(1024, 0, 0, NULL, &why));
  OK(hocket_tiling_create(1024, 0, 0, &t, &why));
  REFUSED(HOCKET_BAD_INPUT, "number of phases", hocket_tiling_solve(t, NULL, &plan, &why));
  REFUSED(HOCKET_BAD_INPUT, "phase is 2", hocket_tiling_add_affine(t, 2, 1, 1, 0, 1, &why));
  REFUSED(HOCKET_BAD_INPUT, "affine", hocket_tiling_add_affine(t, 0, -1, 1, 0, 1, &why));
  REFUSED(HOCKET_BAD_INPUT, "overlap", hocket_tiling_add_affine(t, 0, 1, 1, 0, 0, &why));
  REFUSED(HOCKET_BAD_INPUT, "overlap is 0.5, but must be at least 1",
          hocket_tiling_add_affine(t, 0, 1, 1, 0, 0.5, &why));
  REFUSED(HOCKET_BAD_INPUT, "overlap is nan", hocket_tiling_add_affine(t, 0, 1, 1, 0, NAN, &why));
  REFUSED(HOCKET_BAD_INPUT, "overlap", hocket_tiling_add_affine(t, 0, 1, 1, 0, 1e7, &why));
  REFUSED(HOCKET_BAD_INPUT, "tiling is a null", hocket_tiling_add_affine(NULL, 0, 1, 1, 0, 1, &why));
  REFUSED(HOCKET_BAD_INPUT, "tiling is a null", hocket_tiling_add_table(NULL, 0, 0, NULL, NULL, 1, &why));
  REFUSED(HOCKET_BAD_INPUT, "tiling is a null", hocket_tiling_add_samples(NULL, 0, 0, NULL, NULL, 1, NULL, &why));
  for (i = 0; i < 8; ++i) OK(hocket_tiling_add_affine(t, 0, 1, 1, 0, 1, &why));
  REFUSED(HOCKET_BAD_INPUT, "number of phases is 9", hocket_tiling_add_affine(t, 0, 1, 1, 0, 1, &why));
  REFUSED(HOCKET_BAD_INPUT, "one is 0", hocket_tiling_set_product(t, 0, 1, 2, &why));
  REFUSED(HOCKET_BAD_INPUT, "tiling is a null", hocket_tiling_set_product(NULL, 1, 1, 2, &why));
  hocket_tiling_destroy(t);

  t = problem(1.15);
  REFUSED(HOCKET_BAD_INPUT, "no tiling policy \"best\"", hocket_tiling_solve(t, "best", &plan, &why));
  REFUSED(HOCKET_BAD_INPUT, "tiling is a null", hocket_tiling_solve(NULL, NULL, &plan, &why));
  REFUSED(HOCKET_BAD_INPUT, "out is a null", hocket_tiling_solve(t, NULL, NULL, &why));
  REFUSED(HOCKET_BAD_INPUT, "k", hocket_tiling_solve(t, "documented", &plan, &why));
  CHECK(plan == NULL);
  OK(hocket_tiling_solve(t, "exact", &plan, &why));
  for (i = 0; i < hocket_tile_plan_count(plan); ++i) rows += hocket_tile_plan_rows(plan)[i];
  CHECK(rows == 1024);
  CHECK(fabs(hocket_tile_plan_predicted_us(plan) - least_us()) < 1e-3);
  CHECK(fabs(hocket_tile_plan_serial_us(plan) - compute_us(1024) - comm_us(1024)) < 1e-3);
  CHECK(hocket_tile_plan_lower_bound_us(plan) == hocket_tile_plan_predicted_us(plan));
  CHECK(strcmp(hocket_tile_plan_policy(plan), "exact") == 0);
  CHECK(strcmp(hocket_tile_plan_flag(plan, 0), "optimal") == 0 && hocket_tile_plan_flag(plan, 1) == NULL);
  hocket_tile_plan_destroy(plan);
  OK(hocket_tiling_solve(t, NULL, &plan, &why));
  CHECK(hocket_tile_plan_predicted_us(plan) >= least_us() - 1e-3);
  hocket_tile_plan_destroy(plan);
  OK(hocket_tiling_set_product(t, 3072, 8192, 2, &why));
  OK(hocket_tiling_solve(t, "documented", &plan, &why));
  hocket_tile_plan_destroy(plan);
  hocket_tiling_destroy(t);
  hocket_tiling_destroy(NULL);
  hocket_tile_plan_destroy(NULL);
  CHECK(hocket_tile_plan_count(NULL) == 0 && hocket_tile_plan_rows(NULL) == NULL);
  CHECK(!(hocket_tile_plan_predicted_us(NULL) > 0) && !(hocket_tile_plan_serial_us(NULL) > 0));
  CHECK(!(hocket_tile_plan_lower_bound_us(NULL) > 0) && hocket_tile_plan_policy(NULL) == NULL);
  CHECK(hocket_tile_plan_flag(NULL, 0) == NULL);
  test_tables();
}

/* ---- costs ----------------------------------------------------------------------------------------------------- */

static const char llama[] =
    "{\"model_type\":\"llama\",\"architectures\":[\"LlamaForCausalLM\"],\"hidden_size\":4096,\"intermediate_size\":"
    "11008,"
    "\"num_hidden_layers\":32,\"num_attention_heads\":32,\"num_key_value_heads\":32,\"vocab_size\":32000,"
    "\"max_position_embeddings\":4096,\"tie_word_embeddings\":false,\"hidden_act\":\"silu\",\"rms_norm_eps\":1e-05}";

void test_costs(void) {
  const char* const step = "{\"sequence\":4096,\"micro_batch\":1,\"global_batch\":8}";
  char* text = NULL;
  const hocket_status built = hocket_cost_report(llama, NULL, NULL, NULL, &text, &why);
  if (built == HOCKET_NOT_BUILT) {
    CHECK(strstr(why.sentence, "without cost reports") != NULL && text == NULL);
    return;
  }
  const char* const records =
      "{\"0\": {\"entries\": [{\"process_group\": [\"0\", \"tp\"], \"collective_seq_id\": 1, \"profiling_name\": "
      "\"nccl:barrier\"}], \"pg_config\": {\"0\": {\"desc\": \"tp\", \"ranks\": \"[0, 1]\"}}}, \"1\": {\"entries\": "
      "[]}}";
  char* told = NULL;
  OK(hocket_ranks_hang(records, &told, &why));
  CHECK(strstr(told, "never comes: rank 1 has not come to barrier number 1 of tp. ") == told);
  hocket_text_destroy(told);
  told = NULL;
  REFUSED(HOCKET_BAD_INPUT, "records_json is a null", hocket_ranks_hang(NULL, &told, &why));
  REFUSED(HOCKET_BAD_INPUT, "told is a null", hocket_ranks_hang(records, NULL, &why));
  REFUSED(HOCKET_BAD_INPUT, "must be an object", hocket_ranks_hang("[]", &told, &why));
  REFUSED(HOCKET_BAD_INPUT, "is not a rank", hocket_ranks_hang("{\"x\": {}}", &told, &why));
  REFUSED(HOCKET_BAD_INPUT, "entries of a flight record", hocket_ranks_hang("{\"0\": {}}", &told, &why));
  CHECK(told == NULL);
  CHECK(built == HOCKET_OK && strstr(text, "6738415616") != NULL); /* as published for Llama-2-7B */
  hocket_text_destroy(text);
  OK(hocket_cost_report(llama, step, "{\"pp\":2}", "text", &text, &why));
  CHECK(strstr(text, "rank") != NULL && text[0] != '{');
  hocket_text_destroy(text);
  OK(hocket_cost_report(llama, step, NULL, "latex", &text, &why));
  CHECK(strstr(text, "\\begin{longtable}") != NULL);
  hocket_text_destroy(text);
  text = NULL;
  REFUSED(HOCKET_BAD_INPUT, "model_json is a null", hocket_cost_report(NULL, NULL, NULL, NULL, &text, &why));
  REFUSED(HOCKET_BAD_INPUT, "text is a null", hocket_cost_report(llama, NULL, NULL, NULL, NULL, &why));
  REFUSED(HOCKET_BAD_INPUT, "format", hocket_cost_report(llama, NULL, NULL, "xml", &text, &why));
  REFUSED(HOCKET_BAD_INPUT, "parallel needs training", hocket_cost_report(llama, NULL, "{}", NULL, &text, &why));
  REFUSED(HOCKET_BAD_INPUT, "model", hocket_cost_report("{", NULL, NULL, NULL, &text, &why));
  REFUSED(HOCKET_BAD_INPUT, "training: \"sequence\"", hocket_cost_report(llama, "{}", NULL, NULL, &text, &why));
  REFUSED(HOCKET_BAD_INPUT, "parallel: the file has an unknown field \"qq\"",
          hocket_cost_report(llama, step, "{\"qq\":1}", NULL, &text, &why));
  CHECK(text == NULL);
  const char* const plan =
      "{\"model\":\"llama\",\"training\":{\"sequence\":4096,\"global_batch\":8,\"machine\":\"h100_sxm\"},"
      "\"parallel\":{\"tp\":2,\"pp\":2},\"cluster\":{\"devices\":4,\"memory_gib\":80},\"pipeline\":{}}";
  OK(hocket_plan_step(plan, llama, &text, &why));
  CHECK(strstr(text, "\"predicted_step\"") != NULL && strstr(text, "\"peak_bytes\"") != NULL);
  hocket_text_destroy(text);
  text = NULL;
  REFUSED(HOCKET_BAD_INPUT, "model_json is a null", hocket_plan_step(plan, NULL, &text, &why));
  REFUSED(HOCKET_BAD_INPUT, "\"graph\" names a file", hocket_plan_step("{\"graph\":{}}", llama, &text, &why));
  REFUSED(HOCKET_BAD_INPUT, "plan: these fields are missing: \"model\", \"training.sequence\"",
          hocket_plan_step("{}", llama, &text, &why));
  CHECK(text == NULL);
}
