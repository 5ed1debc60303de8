// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Repeated measurements: mean with a 95 % confidence interval, and median.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace ffn {

struct summary {
  double mean     = 0;
  double interval = 0;  // the mean lies within +- this, with 95 % confidence
  double median   = 0;
};

/// The two-sided 95 % quantile of Student's distribution. Source: any table of it; above 30 degrees
/// of freedom its expansion around the normal quantile 1.95996.
inline double student_quantile(std::size_t degrees) {
  constexpr double table[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                              2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                              2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                              2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
  if (degrees == 0) return INFINITY;
  auto const v = static_cast<double>(degrees);
  return degrees <= 30 ? table[degrees - 1] : 1.95996 + 2.37227 / v + 2.8225 / (v * v);
}

inline summary summarize(std::vector<double> values) {
  summary result;
  if (values.empty()) return result;
  auto const count = static_cast<double>(values.size());
  for (double const value : values) result.mean += value / count;
  double squares = 0;
  for (double const value : values) squares += (value - result.mean) * (value - result.mean);
  if (values.size() > 1) {
    result.interval =
        student_quantile(values.size() - 1) * std::sqrt(squares / (count - 1) / count);
  }
  std::sort(values.begin(), values.end());
  result.median = (values[values.size() / 2] + values[(values.size() - 1) / 2]) / 2;
  return result;
}

/// Of values measured in the same rounds: each one divided by its partner.
inline std::vector<double> ratios(std::vector<double> const& values,
                                  std::vector<double> const& partners) {
  std::vector<double> result;
  for (std::size_t i = 0; i < std::min(values.size(), partners.size()); ++i) {
    result.push_back(values[i] / partners[i]);
  }
  return result;
}

inline std::vector<double> differences(std::vector<double> const& values,
                                       std::vector<double> const& partners) {
  std::vector<double> result;
  for (std::size_t i = 0; i < std::min(values.size(), partners.size()); ++i) {
    result.push_back(values[i] - partners[i]);
  }
  return result;
}

}  // namespace ffn
