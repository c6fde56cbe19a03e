// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/core/result.hpp>
#include <hocket/pipeline/lower.hpp>
#include <hocket/pipeline/table.hpp>
#include <hocket/pipeline/transfers.hpp>
#include <hocket/ranks/program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::interop {

/// The ranks of a job besides the pipeline's. Rank of the job = t + tensor · (c + context · (d + data · p)): tensor
/// ranks are next to each other, pipeline ranks are farthest apart, as Megatron-LM counts them.
struct rank_mesh {
  std::uint32_t tensor = 1;
  std::uint32_t context = 1;
  std::uint32_t data = 1;
  /// Ranks that share the experts of a layer: of context · data, those next to each other. It divides context · data.
  std::uint32_t expert = 1;

  friend constexpr bool operator==(const rank_mesh&, const rank_mesh&) = default;
};

/// Which communicators carry the transfers of a pipeline.
enum class transfer_communicators : std::uint8_t {
  pipeline,   ///< one for all ranks of a pipeline, on one stream (batched sends and receives of PyTorch, Megatron-LM)
  pair,       ///< one for each two ranks, each on a stream of its own (single sends and receives of PyTorch)
  direction,  ///< one for each two ranks and direction, each on a stream of its own
};

/// What the ranks call besides the transfers of the schedule.
struct pipeline_calls {
  /// Transfers, reductions and so on that are put into the lists; not if the schedule has transfers already.
  pipeline::lowering_options lowering{
      .reduce_grad = true, .transfers = pipeline::transfer_policy::eager, .optimizer = true};
  transfer_communicators transfers = transfer_communicators::pipeline;
  /// Transfers next to each other in a list are posted as one group.
  bool grouped = false;
  /// Tensor ranks gather and scatter sequences; otherwise they reduce sums.
  bool sequence_parallel = true;
  /// Layers of a stage. Each calls the same again, so one shows all orders there are.
  std::uint32_t layers = 1;
  /// The first and the last stage share a table, whose gradients they sum.
  bool tied_embeddings = false;
};

/// Streams of the programs that `ranks_of_pipeline` makes.
inline constexpr stream_id compute_stream = 0;
inline constexpr stream_id data_stream = 1;      ///< gradients and weights over the data ranks
inline constexpr stream_id transfer_stream = 2;  ///< and those above it where transfers have several

namespace detail {

/// Most ops of all ranks together: a stray number must not size an allocation.
inline constexpr std::uint64_t most_pipeline_calls = std::uint64_t{1} << 28;

/// Writes the lists of a schedule's ranks into a program, one rank of the job after the other.
class pipeline_rank_writer {
 public:
  using action = pipeline::stage_action;
  using kind = pipeline::action_kind;

  pipeline_rank_writer(ranks::program& job, const pipeline::table_schedule& plan, rank_mesh mesh, pipeline_calls calls)
      : job_(job),
        plan_(plan),
        mesh_(mesh),
        calls_(calls),
        lanes_(mesh.tensor * mesh.context * mesh.data),
        stages_(plan.ranks() * plan.chunks()) {
    name_groups();
  }

  /// The list of one rank of the job.
  void write(std::uint32_t pipeline_rank, std::uint32_t lane) {
    pipeline_rank_ = pipeline_rank;
    lane_ = lane;
    events_ = 0;
    arrivals_.clear();
    gathered_.clear();
    const std::span<const action> list = plan_.rank(pipeline_rank);
    for (std::size_t i = 0; i < list.size();) {
      std::size_t end = i + 1;
      if (!pipeline::is_transfer(list[i].kind())) {
        put(list[i]);
      } else {
        while (calls_.grouped && end < list.size() && pipeline::is_transfer(list[end].kind())) ++end;
        transfer(list.subspan(i, end - i));
      }
      i = end;
    }
  }

 private:
  static constexpr ranks::communicator_id nobody = no_id;

  // Communicators of one name: each of `count` ranks, `stride` apart.
  [[nodiscard]] ranks::communicator_id add_groups(std::string_view name, std::uint32_t count, std::uint32_t stride) {
    ranks::communicator_id id = nobody;
    if (count < 2) return id;
    std::vector<std::uint32_t> of(count);
    for (std::uint32_t first = 0; first < job_.ranks(); ++first) {
      if (first / stride % count != 0) continue;
      for (std::uint32_t i = 0; i < count; ++i) of[i] = first + i * stride;
      id = job_.communicator(name, of);
    }
    return id;
  }
  void name_groups() {
    const std::uint32_t replicas = mesh_.context * mesh_.data;
    tensor_ = add_groups("tensor", mesh_.tensor, 1);
    context_ = add_groups("context", mesh_.context, mesh_.tensor);
    data_ = add_groups("data", replicas, mesh_.tensor);
    expert_ = add_groups("expert", mesh_.expert, mesh_.tensor);
    if (mesh_.expert > 1)
      expert_data_ = add_groups("expert data", replicas / mesh_.expert, mesh_.tensor * mesh_.expert);
    if (calls_.transfers == transfer_communicators::pipeline) pipeline_ = add_groups("pipeline", plan_.ranks(), lanes_);
    const std::uint32_t first = rank_at(0, 0), last = rank_at(stages_ - 1, 0);
    if (calls_.tied_embeddings && first != last) tied_ = add_pairs("embedding", first, last);
  }
  // Communicators of two ranks of each pipeline.
  [[nodiscard]] ranks::communicator_id add_pairs(std::string_view name, std::uint32_t a, std::uint32_t b) {
    ranks::communicator_id id = nobody;
    for (std::uint32_t lane = 0; lane < lanes_; ++lane)
      id = job_.communicator(name, {a * lanes_ + lane, b * lanes_ + lane});
    return id;
  }
  [[nodiscard]] std::uint32_t rank_at(std::uint32_t stage, std::uint32_t direction) const {
    return pipeline::rank_of(plan_.placement(), plan_.ranks(), stage, direction);
  }

  void add(ranks::op what, stream_id stream) {
    what.stream = stream;
    job_.add(pipeline_rank_ * lanes_ + lane_, what);
  }
  void call(ranks::op_kind what, ranks::communicator_id communicator, stream_id stream) {
    if (communicator != nobody) add({.kind = what, .communicator = communicator}, stream);
  }
  // An event for what a stream has been given so far.
  std::uint32_t record(stream_id stream) {
    add({.kind = ranks::op_kind::record, .tag = events_}, stream);
    return events_++;
  }
  void wait(std::uint32_t event, stream_id stream) { add({.kind = ranks::op_kind::wait, .tag = event}, stream); }

  void put(action a) {
    switch (a.kind()) {
      case kind::forward:
      case kind::recompute: return piece(a, true);
      case kind::backward:
      case kind::input_grad: return piece(a, false);
      case kind::weight_grad: return add({.kind = ranks::op_kind::compute}, compute_stream);
      case kind::unshard: return gather_weights(a);
      case kind::reduce_grad: return reduce_gradients();
      case kind::optimizer: return optimize();
      default: return;  // offload, reload, reshard, idle and post-validation call nobody
    }
  }

  // The calls of the layers of a stage, after what they need is there.
  void piece(action a, bool forward) {
    if (pipeline::has_far_end(pipeline::receive_of(a), stages_)) await(arrivals_, number_of(pipeline::receive_of(a)));
    await(gathered_, weights_of(a));
    for (std::uint32_t layer = 0; layer < calls_.layers; ++layer) {
      if (forward) call(ranks::op_kind::all_gather, context_, compute_stream);
      if (forward) block();
      call(ranks::op_kind::all_to_all, expert_, compute_stream);
      block();
      call(ranks::op_kind::all_to_all, expert_, compute_stream);
      if (!forward) block();
      if (!forward) call(ranks::op_kind::reduce_scatter, context_, compute_stream);
    }
  }
  // Attention or the FFN, forward or backward.
  void block() {
    using enum ranks::op_kind;
    if (calls_.sequence_parallel) call(all_gather, tensor_, compute_stream);
    add({.kind = compute}, compute_stream);
    call(calls_.sequence_parallel ? reduce_scatter : all_reduce, tensor_, compute_stream);
  }
  void await(const std::map<std::uint64_t, std::uint32_t>& events, std::uint64_t what) {
    const auto at = events.find(what);
    if (at != events.end()) wait(at->second, compute_stream);
  }

  [[nodiscard]] static std::uint64_t weights_of(action a) { return std::uint64_t{a.direction()} << 32 | a.stage(); }
  void gather_weights(action a) {
    call(ranks::op_kind::all_gather, data_, data_stream);
    if (data_ != nobody) gathered_[weights_of(a)] = record(data_stream);
  }
  void reduce_gradients() {
    if (data_ == nobody) return;
    wait(record(compute_stream), data_stream);
    call(ranks::op_kind::reduce_scatter, data_, data_stream);
    call(ranks::op_kind::reduce_scatter, expert_data_, data_stream);
  }
  // The norm of all gradients decides how far all ranks go.
  void optimize() {
    if (data_ != nobody) wait(record(data_stream), compute_stream);
    if (pipeline_rank_ == rank_at(0, 0) || pipeline_rank_ == rank_at(stages_ - 1, 0))
      call(ranks::op_kind::all_reduce, tied_, compute_stream);
    call(ranks::op_kind::all_reduce, ranks::world, compute_stream);
    add({.kind = ranks::op_kind::compute}, compute_stream);
    call(ranks::op_kind::all_gather, data_, compute_stream);
    call(ranks::op_kind::all_gather, expert_data_, compute_stream);
  }

  // A transfer is told from others by what its receiver calls it.
  [[nodiscard]] std::uint64_t number_of(action transfer) const {
    const action r = pipeline::is_send(transfer.kind()) ? pipeline::far_end(transfer) : transfer;
    const std::uint64_t stage = std::uint64_t{r.direction()} * stages_ + r.stage();
    const std::uint64_t unit =
        (stage * plan_.micro_batches() + r.micro_batch()) * pipeline::slices_of(plan_) + r.slice();
    return unit * 2 + (r.kind() == kind::recv_forward ? 0 : 1);
  }
  [[nodiscard]] std::uint32_t peer_of(action transfer) const {
    const action other = pipeline::far_end(transfer);
    return rank_at(other.stage(), other.direction());
  }

  // Transfers posted at once. What is sent is made before; what is received is noted.
  void transfer(std::span<const action> list) {
    std::uint32_t made = no_id;
    for (const action a : list)
      if (pipeline::is_send(a.kind()) && made == no_id) made = record(compute_stream);
    std::vector<stream_id> streams;
    for (const action a : list) {
      const stream_id on = stream_of(a);
      if (std::find(streams.begin(), streams.end(), on) != streams.end()) continue;
      streams.push_back(on);
      if (made != no_id) wait(made, on);
    }
    if (list.size() > 1) add({.kind = ranks::op_kind::group_begin}, streams[0]);
    for (const action a : list) post(a);
    if (list.size() > 1) add({.kind = ranks::op_kind::group_end}, streams[0]);
    for (const action a : list)
      if (!pipeline::is_send(a.kind())) arrivals_[number_of(a)] = record(stream_of(a));
  }
  void post(action a) {
    const bool sends = pipeline::is_send(a.kind());
    const std::uint32_t peer = peer_of(a);
    add({.kind = sends ? ranks::op_kind::send : ranks::op_kind::receive,
         .communicator = communicator_of(sends ? pipeline_rank_ : peer, sends ? peer : pipeline_rank_),
         .peer = peer * lanes_ + lane_,
         .tag = static_cast<std::uint32_t>(number_of(a))},
        stream_of(a));
  }
  [[nodiscard]] stream_id stream_of(action a) const {
    if (calls_.transfers == transfer_communicators::pipeline) return transfer_stream;
    const std::uint32_t peer = peer_of(a);
    if (calls_.transfers == transfer_communicators::pair) return transfer_stream + peer;
    return transfer_stream + 2 * peer + (pipeline::is_send(a.kind()) ? 0 : 1);
  }
  [[nodiscard]] ranks::communicator_id communicator_of(std::uint32_t from, std::uint32_t to) {
    if (calls_.transfers == transfer_communicators::pipeline) return pipeline_;
    if (calls_.transfers == transfer_communicators::pair && from > to) return communicator_of(to, from);
    const auto [at, is_new] = between_.try_emplace(std::pair(from, to), nobody);
    if (is_new) {
      const bool one_way = calls_.transfers == transfer_communicators::direction;
      at->second = add_pairs(std::to_string(from) + (one_way ? " to " : " and ") + std::to_string(to), from, to);
    }
    return at->second;
  }

  ranks::program& job_;
  const pipeline::table_schedule& plan_;
  rank_mesh mesh_;
  pipeline_calls calls_;
  std::uint32_t lanes_;
  std::uint32_t stages_;
  ranks::communicator_id tensor_ = nobody, context_ = nobody, data_ = nobody, expert_ = nobody, expert_data_ = nobody;
  ranks::communicator_id pipeline_ = nobody, tied_ = nobody;
  std::map<std::pair<std::uint32_t, std::uint32_t>, ranks::communicator_id> between_;
  // Of the rank that is written.
  std::uint32_t pipeline_rank_ = 0, lane_ = 0;
  std::uint32_t events_ = 0;
  std::map<std::uint64_t, std::uint32_t> arrivals_;  // transfer -> event
  std::map<std::uint64_t, std::uint32_t> gathered_;  // weights of a stage -> event
};

/// Sizes within the limits, and their product: the ranks of the job.
inline result<std::uint32_t> ranks_of_mesh(std::uint32_t pipeline_ranks, const rank_mesh& mesh) {
  const std::pair<std::string_view, std::uint32_t> sizes[] = {
      {"tensor", mesh.tensor}, {"context", mesh.context}, {"data", mesh.data}, {"expert", mesh.expert}};
  for (const auto& [name, size] : sizes)
    if (size < 1 || size > ranks::max_ranks) return error{errc::out_of_range, size, 1, ranks::max_ranks}.with(name);
  const std::uint64_t replicas = std::uint64_t{mesh.context} * mesh.data;
  if (replicas % mesh.expert != 0)
    return error{errc::indivisible, static_cast<std::int64_t>(replicas), mesh.expert}.with("context x data");
  const std::uint64_t lanes = replicas * mesh.tensor;
  if (lanes > ranks::max_ranks || lanes * pipeline_ranks > ranks::max_ranks)
    return error{errc::limit_exceeded, static_cast<std::int64_t>(lanes),
                 ranks::max_ranks / (std::max)(pipeline_ranks, 1u)}
        .with("tensor x context x data");
  return static_cast<std::uint32_t>(lanes * pipeline_ranks);
}

/// Transfers have another rank at the far end, and can be numbered in 32 bits.
inline result<void> check_transfers(const pipeline::table_schedule& plan) {
  const std::uint32_t stages = plan.ranks() * plan.chunks();
  const auto rank_at = [&](pipeline::stage_action a) {
    return pipeline::rank_of(plan.placement(), plan.ranks(), a.stage(), a.direction());
  };
  for (std::uint32_t r = 0; r < plan.ranks(); ++r)
    for (std::uint32_t i = 0; i < plan.size(r); ++i) {
      const pipeline::stage_action a = plan.at(r, i);
      if (!pipeline::is_transfer(a.kind())) continue;
      if (!pipeline::has_far_end(a, stages) || rank_at(pipeline::far_end(a)) == r)
        return error{errc::local_transfer, r, a.stage(), a.micro_batch(), i}.with("the transfer");
    }
  const std::uint64_t units = std::uint64_t{plan.micro_batches()} * plan.slices();
  const std::uint64_t most = (std::uint64_t{1} << 31) / (std::uint64_t{stages} * plan.directions());
  if (units > most)
    return error{errc::limit_exceeded, static_cast<std::int64_t>(units), static_cast<std::int64_t>(most)}.with(
        "micro-batches x slices of a table");
  return {};
}

inline result<ranks::program> write_pipeline_ranks(const pipeline::table_schedule& plan, const rank_mesh& mesh,
                                                   const pipeline_calls& calls) {
  const auto count = ranks_of_mesh(plan.ranks(), mesh);
  if (!count) return count.error();
  if (const auto ok = check_transfers(plan); !ok) return ok.error();
  std::uint64_t ops = 0;
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) ops += plan.size(r);
  const std::uint32_t lanes = *count / plan.ranks();
  const std::uint64_t most = most_pipeline_calls / (std::uint64_t{10} * (std::max)(calls.layers, 1u) * lanes);
  if (ops > most)
    return error{errc::limit_exceeded, static_cast<std::int64_t>(ops), static_cast<std::int64_t>(most)}.with(
        "actions on a mesh of this size");
  ranks::program job(*count);
  pipeline_rank_writer writer(job, plan, mesh, calls);
  for (std::uint32_t p = 0; p < plan.ranks(); ++p)
    for (std::uint32_t lane = 0; lane < lanes; ++lane) writer.write(p, lane);
  return job;
}

}  // namespace detail

/// The program of all ranks of a job that runs a pipeline schedule on a mesh: what `ranks::check` answers "will it
/// finish?" for, and what a host adds its own calls to. One call stands for each kind of call of a piece: forwards and
/// backwards gather and scatter over tensor and context ranks, exchange tokens over expert ranks; gradients and weights
/// go over the data ranks on `data_stream`, transfers on `transfer_stream`. A pair that runs at once is called one
/// after the other. Events order what needs what, so nothing but the order of calls decides.
/// @param plan   any schedule; one with transfers keeps its lists as they are, otherwise `calls.lowering` puts them in
/// @param mesh   the other dimensions
/// @return a program of plan.ranks() · tensor · context · data ranks. errc::out_of_range, errc::indivisible,
///         errc::limit_exceeded for a mesh that cannot be, errc::local_transfer for one with no other rank at
///         its far end, and the errors of `lower`
/// Complexity: O(ranks of the job · actions · layers) time and memory.
///
///     const auto plan = hocket::pipeline::interleaved::make({.ranks = 4, .chunks = 2, .micro_batches = 8}).value();
///     const auto job = hocket::interop::ranks_of_pipeline(plan, {.tensor = 2, .data = 2}).value();
///     hocket::ranks::check(job, hocket::ranks::machine{})->says == hocket::ranks::verdict::safe;
template <pipeline::schedule S>
[[nodiscard]] result<ranks::program> ranks_of_pipeline(const S& plan, const rank_mesh& mesh,
                                                       const pipeline_calls& calls = {}) {
  const auto lists =
      pipeline::has_transfers(plan) ? pipeline::table_schedule::make_copy(plan) : pipeline::lower(plan, calls.lowering);
  if (!lists) return lists.error();
  return detail::write_pipeline_ranks(*lists, mesh, calls);
}

}  // namespace hocket::inline HOCKET_ABI::interop
