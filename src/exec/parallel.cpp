#include "parallel.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace calkit::exec {
namespace {

// A step of a model is a few hundred short pieces of work: who waits for the next one looks for it a while (some tens
// of microseconds) before going to sleep.
constexpr int kLooks = 4000;

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

template <class Condition>
void look_for(const Condition& condition) {
  for (int i = 0; i < kLooks && !condition(); ++i) relax();
}

// Threads that stay. One caller at a time has them.
class Pool {
 public:
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
      generation_.fetch_add(1);
    }
    wake_.notify_all();
  }

  /// Calls piece(0) here and piece(1) to piece(pieces - 1) on other threads; returns when all are done. False, and
  /// nothing was called, if somebody else has the threads.
  bool run(std::size_t pieces, const std::function<void(std::size_t)>& piece) noexcept {
    if (busy_.exchange(true)) return false;
    {
      const std::lock_guard lock(mutex_);
      while (workers_.size() + 1 < pieces) workers_.emplace_back([this, seen = generation_.load()] { work(seen); });
      piece_ = &piece;
      pieces_ = pieces;
      next_ = 1;
      left_.store(pieces - 1);
      generation_.fetch_add(1);
    }
    wake_.notify_all();
    piece(0);
    const auto done = [&] { return left_.load() == 0; };
    look_for(done);
    std::unique_lock lock(mutex_);
    done_.wait(lock, done);
    busy_.store(false);
    return true;
  }

 private:
  void work(std::size_t seen) {
    for (;;) {
      const auto news = [&] { return generation_.load() != seen; };
      look_for(news);
      std::unique_lock lock(mutex_);
      wake_.wait(lock, news);
      seen = generation_.load();
      if (stop_) return;
      while (next_ < pieces_) {
        const std::size_t index = next_++;
        const auto* piece = piece_;
        lock.unlock();
        (*piece)(index);
        lock.lock();
        if (left_.fetch_sub(1) == 1) done_.notify_all();
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::atomic<bool> busy_ = false;
  std::atomic<std::size_t> generation_ = 0, left_ = 0;
  const std::function<void(std::size_t)>* piece_ = nullptr;
  std::size_t pieces_ = 0, next_ = 0;
  bool stop_ = false;
  std::vector<std::jthread> workers_;  // last: joined before the rest goes
};

Pool& pool() {
  static Pool one;
  return one;
}

}  // namespace

void parallel_for(int threads, std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t begin, std::size_t end)>& body) {
  const std::size_t wanted = std::max<std::size_t>(1, static_cast<std::size_t>(std::max(1, threads)));
  const std::size_t pieces = std::min(wanted, std::max<std::size_t>(1, count / std::max<std::size_t>(1, grain)));
  if (count == 0) return;
  const std::size_t step = (count + pieces - 1) / pieces;
  const auto piece = [&](std::size_t index) {
    const std::size_t begin = index * step;
    if (begin < count) body(begin, std::min(count, begin + step));
  };
  if (pieces > 1 && pool().run(pieces, piece)) return;
  body(0, count);
}

}  // namespace calkit::exec
