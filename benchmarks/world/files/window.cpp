#include "gauge.h"

#include <algorithm>
#include <vector>

using namespace std::literals;

namespace meters {
namespace {

constexpr int kWidth = 32;

template <class It>
double mean(It first, It last) {
  double sum = 0;
  int count = 0;
  for (; first != last; ++first) {
    sum += *first;
    ++count;
  }
  return count ? sum / count : 0;
}

}  // namespace

class Window : public Sink {
  Q_OBJECT
  Q_PROPERTY(int width READ width WRITE setWidth)

 public:
  Window();
  ~Window() override;

  void push(double sample) override {
    if (samples_.size() == kWidth) {
      samples_.erase(samples_.begin());
    }
    samples_.push_back(sample);
  }

  double mean() const {
    auto sorted = samples_;
    std::sort(sorted.begin(), sorted.end(), [](double a, double b) {
      return a < b;
    });
    return meters::mean(sorted.begin(), sorted.end());
  }

 private:
  std::vector<double> samples_;
};

#if defined(_WIN32)
static const char kLineEnd[] = "\r\n";
#else
static const char kLineEnd[] = "\n";
#endif

}  // namespace meters
