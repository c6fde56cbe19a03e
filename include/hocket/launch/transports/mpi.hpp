// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Opt-in: needs <mpi.h> and nothing else of MPI but its C functions. Link MPI yourself.
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/launch/transport.hpp>

#include <mpi.h>

#include <chrono>
#include <thread>
#include <utility>

namespace hocket::inline HOCKET_ABI::launch {

/// MPI's own error code, or one of ours (negative).
enum class mpi_status : int {
  ok = MPI_SUCCESS,
  timed_out = -1,          ///< the peer did not answer within the time limit
  too_large = -2,          ///< more bytes than MPI's int counts
  mismatched_length = -3,  ///< the message was shorter than expected
};

struct mpi_transport_options {
  std::chrono::milliseconds time_limit{0};  ///< of one wait; 0: none
};

/// A rank of an MPI communicator as a `host_transport`: MPI_Isend, MPI_Irecv and MPI_Test, nothing more.
/// The communicator is the caller's. It should be a duplicate for hocket alone (tags then cannot meet the caller's),
/// with MPI_ERRORS_RETURN, so that failures are statuses: `make` sets that.
///
/// When a peer dies: MPI without fault tolerance (ULFM) cannot repair a communicator, and may not even notice. So a
/// wait ends after `time_limit` with `timed_out`; the caller says what it waited for and calls `abort()`, which is
/// MPI_Abort and ends the whole job. Choose the limit well above the longest step of any rank. Progress: MPI moves data
/// only inside of MPI calls; `progress` is one (MPI_Iprobe). One thread at a time, unless MPI was initialised with
/// MPI_THREAD_MULTIPLE.
///
///     MPI_Comm own;  MPI_Comm_dup(MPI_COMM_WORLD, &own);
///     auto t = hocket::launch::mpi_transport::make(own, {.time_limit = std::chrono::seconds(60)}).value();
///     hocket::launch::pipeline_runner runner(program, rank, t);
class mpi_transport {
 public:
  using stream_type = no_stream;
  using status_type = mpi_status;
  struct request_type {
    MPI_Request handle = MPI_REQUEST_NULL;
    int expected = -1;  // bytes, of a receive
  };

  /// A transport over `comm`, whose error handler becomes MPI_ERRORS_RETURN.
  /// errc::backend_failed with MPI's code if `comm` does not take one.
  [[nodiscard]] static result<mpi_transport> make(MPI_Comm comm, const mpi_transport_options& options = {}) noexcept {
    if (const int code = MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN); code != MPI_SUCCESS)
      return error{errc::backend_failed, code};
    return mpi_transport(comm, options);
  }

  [[nodiscard]] MPI_Comm communicator() const noexcept { return comm_; }

  status_type send(const void* from, std::size_t bytes, std::uint32_t peer, std::uint32_t tag, no_stream,
                   request_type& request) noexcept {
    if (bytes > most) return status_type::too_large;
    request.expected = -1;
    return static_cast<status_type>(MPI_Isend(from, static_cast<int>(bytes), MPI_BYTE, static_cast<int>(peer),
                                              static_cast<int>(tag & tag_bits), comm_, &request.handle));
  }
  status_type recv(void* to, std::size_t bytes, std::uint32_t peer, std::uint32_t tag, no_stream,
                   request_type& request) noexcept {
    if (bytes > most) return status_type::too_large;
    request.expected = static_cast<int>(bytes);
    return static_cast<status_type>(MPI_Irecv(to, static_cast<int>(bytes), MPI_BYTE, static_cast<int>(peer),
                                              static_cast<int>(tag & tag_bits), comm_, &request.handle));
  }
  // Whatever is posted progresses together.
  status_type group_begin() noexcept { return status_type::ok; }
  status_type group_end(no_stream) noexcept { return status_type::ok; }

  status_type progress() noexcept {
    int found = 0;
    return static_cast<status_type>(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &found, MPI_STATUS_IGNORE));
  }

  status_type test(request_type& request, bool& done) noexcept {
    int flag = 0;
    MPI_Status status;
    const int code = MPI_Test(&request.handle, &flag, wanted(request, status));
    done = flag != 0;
    if (code != MPI_SUCCESS) return static_cast<status_type>(code);
    return done ? judge(request, status) : status_type::ok;
  }

  status_type wait(request_type& request) noexcept {
    if (options_.time_limit.count() == 0) {
      MPI_Status status;
      const int code = MPI_Wait(&request.handle, wanted(request, status));
      return code != MPI_SUCCESS ? static_cast<status_type>(code) : judge(request, status);
    }
    bool done = false;
    for (int i = 0; i < 64; ++i)
      if (const status_type s = test(request, done); done || !ok(s)) return s;
    // Implementations that know of more ranks than cores give the core away inside of MPI_Test. Doing so here at once
    // would cost a time slice whenever the machine has other work; after a millisecond it is only polite.
    const auto start = std::chrono::steady_clock::now();
    for (;;) {
      for (int i = 0; i < 64; ++i)
        if (const status_type s = test(request, done); done || !ok(s)) return s;
      const auto waited = std::chrono::steady_clock::now() - start;
      if (waited >= options_.time_limit) return status_type::timed_out;
      if (waited > std::chrono::milliseconds(1)) std::this_thread::yield();
    }
  }

  /// MPI_Abort: ends every process of the communicator's job, this one included. Print what happened before.
  void abort() noexcept { MPI_Abort(comm_, 1); }

  static constexpr bool ok(status_type s) noexcept { return s == status_type::ok; }
  /// A fixed sentence for ours and for MPI's error classes; MPI_Error_string knows more about its own codes.
  static const char* text(status_type s) noexcept {
    if (s == status_type::ok) return "ok";
    if (s == status_type::timed_out) return "the peer did not answer within the time limit";
    if (s == status_type::too_large) return "a message of 2 GiB or more";
    if (s == status_type::mismatched_length) return "a message shorter than expected";
    int of_class = 0;
    MPI_Error_class(static_cast<int>(s), &of_class);
    if (of_class == MPI_ERR_TRUNCATE) return "MPI: a message longer than expected";
    if (of_class == MPI_ERR_RANK) return "MPI: no such rank";
    if (of_class == MPI_ERR_COMM) return "MPI: not a communicator";
    if (of_class == MPI_ERR_TAG) return "MPI: tag out of range";
    return "MPI reported an error";
  }

 private:
  mpi_transport(MPI_Comm comm, const mpi_transport_options& options) noexcept : comm_(comm), options_(options) {}

  static constexpr std::size_t most = 0x7fffffff;
  // Every MPI allows tags up to 32767. Order, not the tag, decides what matches; a tag that differs would never match.
  static constexpr std::uint32_t tag_bits = 0x7fff;

  // Only a receive has a length to look at.
  [[nodiscard]] static MPI_Status* wanted(const request_type& request, MPI_Status& status) noexcept {
    return request.expected < 0 ? MPI_STATUS_IGNORE : &status;
  }
  // Once: MPI has forgotten a transfer that is complete, and its length; whoever asks again hears that it is complete.
  [[nodiscard]] static status_type judge(request_type& request, const MPI_Status& status) noexcept {
    if (request.expected < 0) return status_type::ok;
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    return bytes == std::exchange(request.expected, -1) ? status_type::ok : status_type::mismatched_length;
  }

  MPI_Comm comm_;
  mpi_transport_options options_;
};

static_assert(host_transport<mpi_transport>);

}  // namespace hocket::inline HOCKET_ABI::launch
