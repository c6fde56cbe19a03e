// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The words every component needs: errors, results, ids, time, bytes, borrowed elements, fingerprints.
#pragma once
#include <hocket/core/arithmetic.hpp>
#include <hocket/core/borrowed.hpp>
#include <hocket/core/bytes.hpp>
#include <hocket/core/error.hpp>
#include <hocket/core/fingerprint.hpp>
#include <hocket/core/ids.hpp>
#include <hocket/core/int128.hpp>
#include <hocket/core/message.hpp>
#include <hocket/core/printable.hpp>
#include <hocket/core/result.hpp>
#include <hocket/core/time.hpp>
