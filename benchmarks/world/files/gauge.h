#pragma once
#include <mutex>
#include <string>
#include "export.h"

namespace meters {

/// Holds a value.
/// It may be read from any thread.
template <typename T>
class METERS_EXPORT Gauge final {
 public:
  explicit Gauge(std::string name) : name_(std::move(name)) {}
  Gauge(const Gauge&) = delete;

  // Adds to the value and returns what it was before.
  T add(T amount) {
    std::lock_guard<std::mutex> lock(mutex_);
    T before = value_;
    value_ += amount;
    return before;
  }

  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::mutex mutex_;
  T value_{};
};

METERS_DECLARE(Gauge)

enum class Unit {
  Seconds,
  Bytes,
};

constexpr const char* kHelp = R"(usage:
  gauge NAME
  // no comment
)";

}  // namespace meters
