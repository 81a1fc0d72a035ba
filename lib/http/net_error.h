// SPDX-License-Identifier: Apache-2.0
//
// Failures of sockets and name resolution as Status, in the words of Go's net package: they reach
// logs and events that people search for. Internal to lib/http. Any thread.
#pragma once

#include <sys/socket.h>

#include <string>

#include "lib/base/status.h"

namespace csinative::http {

// A failure to get an answer: kUnavailable, or kDeadlineExceeded for kTimeout.
Status TransportStatus(TransportError::Kind kind, std::string message);

TransportError::Kind KindOf(int error_number);

// Go's text of an errno: as strerror, without the capital letter.
std::string ErrnoText(int error_number);

// "1.2.3.4:56" or "[::1]:56"; IPv4-mapped addresses as IPv4.
std::string FormatAddress(const sockaddr* address);

}  // namespace csinative::http
