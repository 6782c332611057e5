#pragma once
/// How the Reduce operators join elements.
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <type_traits>

namespace calkit::exec {

template <class T>
constexpr T lowest() {
  return std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
}
template <class T>
constexpr T highest() {
  return std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
}
template <class T>
T power(T x, double (*function)(double)) {
  return static_cast<T>(function(static_cast<double>(x)));
}

// Integers wrap.
template <class T, class Function>
T wrapped(T a, T b, Function function) {
  if constexpr (std::is_floating_point_v<T>)
    return function(a, b);
  else
    return static_cast<T>(function(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
}

// first: what an empty sum is. add(sum, x). last(sum, elements).
struct Sum {
  template <class T>
  static T first() {
    return T(0);
  }
  template <class T>
  static T add(T sum, T x) {
    return wrapped<T>(sum, x, std::plus<>());
  }
  template <class T>
  static T last(T sum, std::size_t) {
    return sum;
  }
};
struct Mean : Sum {
  template <class T>
  static T last(T sum, std::size_t count) {
    if constexpr (!std::is_floating_point_v<T>)
      if (count == 0) return 0;
    return static_cast<T>(sum / static_cast<T>(count));
  }
};
struct Product : Sum {
  template <class T>
  static T first() {
    return T(1);
  }
  template <class T>
  static T add(T sum, T x) {
    return wrapped<T>(sum, x, std::multiplies<>());
  }
};
struct Largest : Sum {
  template <class T>
  static T first() {
    return lowest<T>();
  }
  template <class T>
  static T add(T best, T x) {
    return x > best || x != x ? x : best;
  }
};
struct Smallest : Sum {
  template <class T>
  static T first() {
    return highest<T>();
  }
  template <class T>
  static T add(T best, T x) {
    return x < best || x != x ? x : best;
  }
};
struct Magnitude : Sum {
  template <class T>
  static T add(T sum, T x) {
    return x < 0 ? wrapped<T>(sum, x, std::minus<>()) : wrapped<T>(sum, x, std::plus<>());
  }
};
struct Squares : Sum {
  template <class T>
  static T add(T sum, T x) {
    return wrapped<T>(sum, wrapped<T>(x, x, std::multiplies<>()), std::plus<>());
  }
};
struct Length : Squares {
  template <class T>
  static T last(T sum, std::size_t) {
    return power(sum, [](double v) { return std::sqrt(v); });
  }
};
struct LogSum : Sum {
  template <class T>
  static T last(T sum, std::size_t) {
    return power(sum, [](double v) { return std::log(v); });
  }
};

}  // namespace calkit::exec
