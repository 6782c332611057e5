// One cell of the matrix: the clients, the queue for slots and the turn-taking of the active sequences.
#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "calkit/load/bench.h"
#include "tokens.h"

namespace calkit::load {
namespace {

using std::chrono::nanoseconds;

struct Client {
  std::size_t request = 0;
  std::vector<std::int32_t> prompt;
  nanoseconds intended{}, first{}, last{};
  std::int64_t tokens = 0;  ///< answered so far
  std::int32_t next = 0;
  std::optional<device::TokenModel::Handle> slot;
};

struct StageSums {
  std::uint64_t steps = 0;
  device::StageTimes total;
  void add(const device::StageTimes& t) {
    ++steps;
    total.queue += t.queue;
    total.h2d += t.h2d;
    total.infer += t.infer;
    total.d2h += t.d2h;
    total.convert += t.convert;
  }
  StageMeans means() const {
    StageMeans out;
    out.steps = steps;
    if (steps == 0) return out;
    const auto mean = [this](nanoseconds sum) { return static_cast<double>(sum.count()) / static_cast<double>(steps); };
    out.queue_ns = mean(total.queue);
    out.h2d_ns = mean(total.h2d);
    out.infer_ns = mean(total.infer);
    out.d2h_ns = mean(total.d2h);
    out.convert_ns = mean(total.convert);
    return out;
  }
};

// A rate over no time is unknown, not infinite.
std::optional<double> rate(std::uint64_t tokens, nanoseconds span) {
  if (tokens == 0 || span.count() <= 0) return std::nullopt;
  return static_cast<double>(tokens) * 1e9 / static_cast<double>(span.count());
}

// These end the run; anything else belongs to the one request.
bool ends_the_run(ErrorKind kind) {
  return kind == ErrorKind::kDevice || kind == ErrorKind::kTimeout || kind == ErrorKind::kInterrupted ||
         kind == ErrorKind::kInternal;
}

class Scheduler {
 public:
  Scheduler(device::TokenModel& model, const CellSpec& spec, nanoseconds timeout, const Now& now)
      : model_(model), spec_(spec), timeout_(timeout), now_(now), facts_(model.facts()) {}
  ~Scheduler() {
    for (Client& client : clients_) release(client);
  }
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Serves `requests` requests from `clients` clients; measures only when asked to.
  Status serve(std::size_t first_request, std::uint64_t requests, std::int64_t clients, bool measured) {
    measured_ = measured;
    next_request_ = first_request;
    end_request_ = first_request + requests;
    clients_.assign(static_cast<std::size_t>(std::min<std::uint64_t>(static_cast<std::uint64_t>(clients), requests)),
                    Client{});
    const nanoseconds begin = now_();
    for (Client& client : clients_) ask(client, begin);
    while (!waiting_.empty() || !active_.empty()) {
      CALKIT_CHECK_OK(admit());
      CALKIT_CHECK_OK(decode_round());
    }
    if (measured_) cell_.wall = now_() - begin;
    return {};
  }

  Cell finish() {
    cell_.spec = spec_;
    cell_.ttft_ns = measure::summarize(ttft_);
    cell_.tpot_ns = measure::summarize(tpot_);
    cell_.e2e_ns = measure::summarize(e2e_);
    cell_.prefill = prefill_.means();
    cell_.decode = decode_.means();
    cell_.prefill_tokens_per_s = rate(prefill_tokens_, prefill_time_);
    cell_.decode_tokens_per_s = rate(decode_.steps, decode_time_);
    cell_.output_tokens_per_s = rate(output_tokens_, cell_.wall);
    return std::move(cell_);
  }

 private:
  void ask(Client& client, nanoseconds intended) {
    client.request = next_request_++;
    client.prompt = random_tokens(prompt_seed(), spec_.prompt_tokens, facts_.vocab, client.request);
    client.intended = intended;
    client.tokens = 0;
    waiting_.push_back(&client);
  }
  std::uint64_t prompt_seed() const {
    return mix(mix(spec_.seed, static_cast<std::uint64_t>(spec_.prompt_tokens)),
               mix(static_cast<std::uint64_t>(spec_.output_tokens), static_cast<std::uint64_t>(spec_.concurrency)));
  }

  void release(Client& client) {
    if (client.slot) model_.finish(*client.slot);
    client.slot.reset();
  }

  void next_of(Client& client) {
    release(client);
    if (next_request_ < end_request_) ask(client, now_());
  }

  Status fail(Client& client, Error error) {
    if (ends_the_run(error.kind)) return std::move(error).during(fmt::format("serving request {}", client.request));
    if (measured_) {
      ++cell_.failed;
      if (cell_.first_failure.empty())
        cell_.first_failure = fmt::format("request {}: {}", client.request, error.message);
    }
    next_of(client);
    return {};
  }

  void succeed(Client& client) {
    if (measured_) {
      ++cell_.succeeded;
      output_tokens_ += static_cast<std::uint64_t>(client.tokens);
      ttft_.push_back(static_cast<double>((client.first - client.intended).count()));
      e2e_.push_back(static_cast<double>((client.last - client.intended).count()));
      if (client.tokens > 1)
        tpot_.push_back(static_cast<double>((client.last - client.first).count()) /
                        static_cast<double>(client.tokens - 1));
    }
    next_of(client);
  }

  // First come, first served: whoever waits longest gets the next free slot.
  Status admit() {
    while (!waiting_.empty() && static_cast<std::int64_t>(active_.size()) < facts_.slots) {
      // A request of one token ends in here and its client asks again at once: this loop may serve the whole cell.
      if (interrupted()) return interrupted_error();
      Client& client = *waiting_.front();
      waiting_.pop_front();
      auto handle = model_.start();
      if (!handle.ok()) {
        CALKIT_CHECK_OK(fail(client, std::move(handle).error()));
        continue;
      }
      client.slot = *handle;
      CALKIT_CHECK_OK(prefill(client));
    }
    return {};
  }

  Status prefill(Client& client) {
    const nanoseconds before = now_();
    auto output = model_.prefill(*client.slot, client.prompt, Deadline::in(timeout_));
    if (!output.ok()) return fail(client, std::move(output).error());
    const auto token = greedy_token(output->logits);
    if (!token) return fail(client, Error(ErrorKind::kInput, "the prefill's logits are not finite"));
    client.first = client.last = now_();
    if (measured_) {
      prefill_.add(output->times);
      prefill_tokens_ += client.prompt.size();
      prefill_time_ += client.first - before;
    }
    client.next = *token;
    client.tokens = 1;
    if (client.tokens >= spec_.output_tokens)
      succeed(client);
    else
      active_.push_back(&client);
    return {};
  }

  Status decode_round() {
    const std::deque<Client*> turn = std::exchange(active_, {});
    for (Client* client : turn) {
      if (interrupted()) return interrupted_error();
      CALKIT_CHECK_OK(decode(*client));
    }
    return {};
  }

  Status decode(Client& client) {
    const nanoseconds before = now_();
    auto output = model_.decode(*client.slot, client.next, Deadline::in(timeout_));
    if (!output.ok()) return fail(client, std::move(output).error());
    const auto token = greedy_token(output->logits);
    if (!token)
      return fail(client,
                  Error(ErrorKind::kInput, fmt::format("the logits of token {} are not finite", client.tokens)));
    client.last = now_();
    if (measured_) {
      decode_.add(output->times);
      decode_time_ += client.last - before;
    }
    client.next = *token;
    ++client.tokens;
    if (client.tokens >= spec_.output_tokens)
      succeed(client);
    else
      active_.push_back(&client);
    return {};
  }

  device::TokenModel& model_;
  const CellSpec& spec_;
  nanoseconds timeout_;
  const Now& now_;
  device::TokenModel::Facts facts_;
  std::vector<Client> clients_;
  std::deque<Client*> waiting_, active_;
  std::size_t next_request_ = 0, end_request_ = 0;
  bool measured_ = false;
  Cell cell_;
  std::vector<double> ttft_, tpot_, e2e_;
  StageSums prefill_, decode_;
  std::uint64_t prefill_tokens_ = 0, output_tokens_ = 0;
  nanoseconds prefill_time_{}, decode_time_{};
};

Status check_spec(const CellSpec& spec, const device::TokenModel::Facts& facts) {
  const auto refuse = [](std::string_view what, std::int64_t found, std::string allowed) {
    return Error(ErrorKind::kInput, fmt::format("{} is {}; allowed: {}", what, found, allowed),
                 "choose lengths that the package can hold");
  };
  if (spec.prompt_tokens < 1 || spec.prompt_tokens > facts.max_prefill_tokens)
    return refuse("the prompt length", spec.prompt_tokens,
                  fmt::format("1 to {} (the package's prefill)", facts.max_prefill_tokens));
  if (spec.output_tokens < 1 || spec.output_tokens > facts.context - spec.prompt_tokens + 1)
    return refuse(
        "the output length", spec.output_tokens,
        fmt::format("1 to {} (context {} less the prompt)", facts.context - spec.prompt_tokens + 1, facts.context));
  if (spec.concurrency < 1 || spec.concurrency > 1024) return refuse("the concurrency", spec.concurrency, "1 to 1024");
  if (spec.requests < 1) return refuse("the number of requests", 0, "at least 1");
  if (facts.slots < 1) return refuse("the package's number of KV slots", facts.slots, "at least 1");
  if (facts.vocab < 2) return refuse("the package's vocabulary", facts.vocab, "at least 2");
  return {};
}

}  // namespace

std::chrono::nanoseconds steady_now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

Result<Cell> run_cell(device::TokenModel& model, const CellSpec& spec, nanoseconds timeout, const Now& now) {
  CALKIT_CHECK_OK(check_spec(spec, model.facts()));
  Scheduler scheduler(model, spec, timeout, now);
  if (spec.warmup > 0) CALKIT_CHECK_OK(scheduler.serve(0, spec.warmup, 1, false), "warming up");
  CALKIT_CHECK_OK(scheduler.serve(spec.warmup, spec.requests, spec.concurrency, true));
  return scheduler.finish();
}

}  // namespace calkit::load
