// SPDX-License-Identifier: Apache-2.0
// How a plan reaches the device. Everything here needs the standard library alone; vendors' backends are opt-in.
#pragma once
#include <hocket/core/message.hpp>
#include <hocket/launch/backend.hpp>
#include <hocket/launch/capture.hpp>
#include <hocket/launch/command.hpp>
#include <hocket/launch/drive.hpp>
#include <hocket/launch/erased_backend.hpp>
#include <hocket/launch/event_pool.hpp>
#include <hocket/launch/from_graph.hpp>
#include <hocket/launch/from_pipeline.hpp>
#include <hocket/launch/from_pipeline_run.hpp>
#include <hocket/launch/from_pipeline_streams.hpp>
#include <hocket/launch/from_tiling.hpp>
#include <hocket/launch/host_backend.hpp>
#include <hocket/launch/host_program.hpp>
#include <hocket/launch/in_process_transport.hpp>
#include <hocket/launch/inline_backend.hpp>
#include <hocket/launch/order.hpp>
#include <hocket/launch/passes.hpp>
#include <hocket/launch/probe.hpp>
#include <hocket/launch/recording_backend.hpp>
#include <hocket/launch/single_wait.hpp>
#include <hocket/launch/trace.hpp>
#include <hocket/launch/transport.hpp>
#include <hocket/launch/transport_check.hpp>
#include <hocket/launch/transport_run.hpp>
