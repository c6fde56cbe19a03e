// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C symbols of the CUDA runtime, on the fake device.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <utility>

#include "engine.hpp"

namespace {

using fake::engine;
using fake::verdict;

cudaError_t code_of(verdict v) {
  switch (v) {
    case verdict::ok: return cudaSuccess;
    case verdict::bad_handle: return cudaErrorInvalidResourceHandle;
    case verdict::no_events:
    case verdict::no_streams: return cudaErrorMemoryAllocation;
    case verdict::timed_out: return cudaErrorNotReady;
    case verdict::not_allowed_in_capture:
    case verdict::already_capturing:
    case verdict::default_stream: return cudaErrorStreamCaptureUnsupported;
    case verdict::capture_invalidated: return cudaErrorStreamCaptureInvalidated;
    case verdict::capture_merge: return cudaErrorStreamCaptureMerge;
    case verdict::capture_unmatched: return cudaErrorStreamCaptureUnmatched;
    case verdict::capture_unjoined: return cudaErrorStreamCaptureUnjoined;
    case verdict::capture_isolation: return cudaErrorStreamCaptureIsolation;
    case verdict::not_capturing: return cudaErrorInvalidValue;
  }
  return cudaErrorUnknown;
}

fake::stream* of(cudaStream_t s) { return reinterpret_cast<fake::stream*>(s); }
fake::event* of(cudaEvent_t e) { return reinterpret_cast<fake::event*>(e); }

template <class F>
cudaError_t call(F f) {
  engine& e = engine::get();
  e.ascend = false;
  if (const int code = e.enter(); code != 0) return static_cast<cudaError_t>(code);
  return code_of(f(e));
}

// A stream that was synchronised reports what its tasks did.
cudaError_t after_sync(cudaError_t status) {
  const int code = engine::get().context_error;
  return code != 0 ? static_cast<cudaError_t>(code) : status;
}

fake::graph* of(cudaGraph_t g) { return reinterpret_cast<fake::graph*>(g); }
cudaGraphNode_t node_of(fake::graph& g, std::size_t number) {
  return reinterpret_cast<cudaGraphNode_t>(g.handle(number));
}
std::size_t number_of(cudaGraphNode_t node) { return *reinterpret_cast<std::size_t*>(node); }
bool is_default(const cudaGraphEdgeData* data, std::size_t i) { return data == nullptr || data[i].type == 0; }

// Whether the edge is there, as what it is asked for.
bool has_edge(const fake::graph& g, std::size_t from, std::size_t to, bool early) {
  const auto& node = g.nodes[to];
  const bool known = std::find(node.after.begin(), node.after.end(), from) != node.after.end();
  return known && (node.early.count(from) != 0) == early;
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  engine& e = engine::get();
  if (e.now().probe_code != 0) return static_cast<cudaError_t>(e.now().probe_code);  // leaves *count alone
  return call([&](engine& one) {
    *count = one.now().devices;
    return verdict::ok;
  });
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = engine::get().now().driver_version;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() {
  engine::get().read_last_error();
  return cudaSuccess;
}
const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaSuccess ? "no error" : error == cudaErrorIllegalAddress ? "an illegal address" : "an error";
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int) {
  return call([&](engine& e) {
    fake::stream* made = nullptr;
    const verdict v = e.create_stream(made);
    if (v == verdict::ok) *stream = reinterpret_cast<cudaStream_t>(made);
    return v;
  });
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return call([&](engine& e) { return e.destroy_stream(of(stream)); });
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return after_sync(call([&](engine& e) { return e.synchronize(of(stream)); }));
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return after_sync(call([&](engine& e) { return e.query(of(stream)); }));
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int) {
  return call([&](engine& e) { return e.wait(of(stream), of(event)); });
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void* data) {
  return call([&](engine& e) { return e.launch(of(stream), [fn, data] { fn(data); }, true); });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return call([&](engine& e) {
    fake::event* made = nullptr;
    const verdict v = e.create_event(made, false, (flags & cudaEventDisableTiming) == 0, true);
    if (v == verdict::ok) *event = reinterpret_cast<cudaEvent_t>(made);
    return v;
  });
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return call([&](engine& e) { return e.destroy_event(of(event)); });
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return call([&](engine& e) { return e.record(of(event), of(stream)); });
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) {
  return call([&](engine& e) { return e.elapsed(of(start), of(end), *ms); });
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode) {
  return call([&](engine& e) { return e.begin_capture(of(stream)); });
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return call([&](engine& e) {
    fake::graph* made = nullptr;
    const verdict v = e.end_capture(of(stream), made);
    if (v == verdict::ok) *graph = reinterpret_cast<cudaGraph_t>(made);
    return v;
  });
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  return call([&](engine& e) {
    *exec = reinterpret_cast<cudaGraphExec_t>(e.copy(*reinterpret_cast<fake::graph*>(graph)));
    return verdict::ok;
  });
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return call([&](engine& e) {
    e.destroy(reinterpret_cast<fake::graph*>(graph));
    return verdict::ok;
  });
}
cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned int) {
  return call([&](engine& e) {
    *graph = reinterpret_cast<cudaGraph_t>(e.copy({}));
    return verdict::ok;
  });
}
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                 const struct cudaHostNodeParams* params) {
  return call([&](engine& e) {
    return e.edit(of(graph), [&](fake::graph& g) {
      fake::capture_state::node node{[fn = params->fn, data = params->userData] { fn(data); }, {}};
      for (size_t i = 0; i < count; ++i) node.after.push_back(number_of(after[i]));
      g.nodes.push_back(std::move(node));
      *out = node_of(g, g.nodes.size() - 1);
      return verdict::ok;
    });
  });
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return call([&](engine& e) {
    return e.edit(of(graph), [&](fake::graph& g) {
      for (size_t i = 0; nodes != nullptr && i < *count && i < g.nodes.size(); ++i) nodes[i] = node_of(g, i);
      *count = g.nodes.size();
      return verdict::ok;
    });
  });
}
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, cudaGraphEdgeData* data,
                              size_t* count) {
  return call([&](engine& e) {
    return e.edit(of(graph), [&](fake::graph& g) {
      size_t found = 0;
      for (size_t b = 0; b < g.nodes.size(); ++b)
        for (const std::size_t a : g.nodes[b].after) {
          const bool early = g.nodes[b].early.count(a) != 0;
          if (from != nullptr && found < *count) {
            from[found] = node_of(g, a);
            to[found] = node_of(g, b);
            if (data != nullptr) data[found] = cudaGraphEdgeData{early, 0, early, {}};
          }
          ++found;
        }
      *count = found;
      return verdict::ok;
    });
  });
}
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                     const cudaGraphEdgeData* data, size_t count) {
  return call([&](engine& e) {
    return e.edit(of(graph), [&](fake::graph& g) {
      for (size_t i = 0; i < count; ++i)
        if (has_edge(g, number_of(from[i]), number_of(to[i]), !is_default(data, i))) return verdict::not_capturing;
      for (size_t i = 0; i < count; ++i) {
        g.nodes[number_of(to[i])].after.push_back(number_of(from[i]));
        if (!is_default(data, i)) g.nodes[number_of(to[i])].early.insert(number_of(from[i]));
      }
      return verdict::ok;
    });
  });
}
cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                        const cudaGraphEdgeData* data, size_t count) {
  return call([&](engine& e) {
    return e.edit(of(graph), [&](fake::graph& g) {
      for (size_t i = 0; i < count; ++i)
        if (!has_edge(g, number_of(from[i]), number_of(to[i]), !is_default(data, i))) return verdict::not_capturing;
      for (size_t i = 0; i < count; ++i) {
        auto& node = g.nodes[number_of(to[i])];
        node.after.erase(std::find(node.after.begin(), node.after.end(), number_of(from[i])));
        node.early.erase(number_of(from[i]));
      }
      return verdict::ok;
    });
  });
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  return call([&](engine& e) { return e.launch_graph(reinterpret_cast<fake::graph*>(graph), of(stream)); });
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  return call([&](engine& e) {
    e.destroy(reinterpret_cast<fake::graph*>(graph));
    return verdict::ok;
  });
}

}  // extern "C"
