// SPDX-License-Identifier: Apache-2.0
//
// Floating point numbers as Go prints them: the shortest digits that read back as the same value.
// Any thread.
#pragma once

#include <string>

namespace csinative {

// strconv's 'g' with shortest precision, and fmt's %v: exponent form below 1e-04 and from 1e+06
// (metrics, common 9.8). "+Inf", "-Inf", "NaN".
void AppendGoFloatG(std::string& out, double value);
// strconv's 'f' with shortest precision: never an exponent.
void AppendGoFloatF(std::string& out, double value);
// encoding/json: plain from 1e-6 up to 1e21, exponent form outside. REQUIRES: finite.
void AppendGoFloatJson(std::string& out, double value);

}  // namespace csinative
