// SPDX-License-Identifier: Apache-2.0
#include "lib/log/value.h"

namespace csinative::log {

Value::Value(const Status& status) {
  if (!status.ok()) rep_ = ErrorText{status.message(), {}};
}

}  // namespace csinative::log
