// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How a plan reaches the device. What few need is included by name: bridges/ from the component whose plans you have,
// backends/host.hpp and the vendors' backends, transports/.
#pragma once
#include <hocket/core/message.hpp>
#include <hocket/launch/backend.hpp>
#include <hocket/launch/backends/inline.hpp>
#include <hocket/launch/backends/recording.hpp>
#include <hocket/launch/capture.hpp>
#include <hocket/launch/command.hpp>
#include <hocket/launch/detail/missing_bridge.hpp>
#include <hocket/launch/drive.hpp>
#include <hocket/launch/event_pool.hpp>
#include <hocket/launch/fenced.hpp>
#include <hocket/launch/reuse_events.hpp>
#include <hocket/launch/single_wait_list.hpp>
#include <hocket/launch/timeline_trace.hpp>
