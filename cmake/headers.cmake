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
