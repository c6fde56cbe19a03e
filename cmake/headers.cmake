# SPDX-License-Identifier: Apache-2.0
# Every public header, by the target that carries it. tools/lint.py checks that this list and include/ agree.

set(HOCKET_HEADERS
  hocket/config.hpp
  hocket/core.hpp
  hocket/core/error.hpp
  hocket/core/fingerprint.hpp
  hocket/core/ids.hpp
  hocket/core/message.hpp
  hocket/core/result.hpp
  hocket/core/ticks.hpp
  hocket/graph.hpp
  hocket/graph/access.hpp
  hocket/graph/adjacency.hpp
  hocket/graph/auto_index.hpp
  hocket/graph/dag.hpp
  hocket/graph/dense_index.hpp
  hocket/graph/dependencies.hpp
  hocket/graph/detail/pooled_lists.hpp
  hocket/graph/detail/topological.hpp
  hocket/graph/detail/variable_table.hpp
  hocket/graph/detail/word_arena.hpp
  hocket/graph/edge.hpp
  hocket/graph/index.hpp
  hocket/graph/make_dag.hpp
  hocket/graph/op_kind.hpp
  hocket/graph/stream_plan.hpp
  hocket/pipeline.hpp
  hocket/pipeline/action.hpp
  hocket/pipeline/alternation.hpp
  hocket/pipeline/bound.hpp
  hocket/pipeline/costs.hpp
  hocket/pipeline/gpipe.hpp
  hocket/pipeline/groups.hpp
  hocket/pipeline/interleaved.hpp
  hocket/pipeline/interleaved_order.hpp
  hocket/pipeline/one_f_one_b.hpp
  hocket/pipeline/placement.hpp
  hocket/pipeline/rank_view.hpp
  hocket/pipeline/run.hpp
  hocket/pipeline/schedule.hpp
  hocket/pipeline/shape.hpp
  hocket/pipeline/simulate.hpp
  hocket/pipeline/workspace.hpp
  hocket/testing/graph_laws.hpp
  hocket/timeline/timeline.hpp
  hocket/version.hpp
)

# Boost.Hana
set(HOCKET_COST_HEADERS
)

# one target per interop header
set(HOCKET_RANGE_V3_HEADERS
)
set(HOCKET_HUGGING_FACE_HEADERS
)
set(HOCKET_BOOST_GRAPH_HEADERS
)
