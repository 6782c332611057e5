#pragma once
/// Softmax of a row, as the operator computes it.
#include <algorithm>
#include <cmath>
#include <vector>

namespace calkit::exec {

template <class T>
void softmax_row(std::vector<T>& row) {
  const T largest = *std::max_element(row.begin(), row.end());
  T sum = 0;
  for (T& value : row) sum += value = std::exp(value - largest);
  for (T& value : row) value /= sum;
}

}  // namespace calkit::exec
