// SPDX-License-Identifier: Apache-2.0
//
// The two layouts of a record. Private to lib/log.
#pragma once

#include <string>
#include <string_view>

#include "lib/base/clock.h"
#include "lib/log/backend.h"

namespace csinative::log {

// Append the whole record, line feed included.
void AppendTextRecord(std::string& out, const Record& record, WallTime now, int pid);
void AppendJsonRecord(std::string& out, const Record& record, WallTime now);

// A value inside an unstructured text, as Go's %v prints it.
void AppendPlainValue(std::string& out, const Value& value);

// Go's text of a point in time, in UTC.
std::string GoTimeText(WallTime time);

}  // namespace csinative::log
