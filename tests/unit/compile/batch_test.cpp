// Several rows per call, through the boundary itself: rows of different lengths, each on its own KV slot.
#include <algorithm>
#include <cstring>

#include "calkit/tensor/metrics.h"
#include "road.h"

namespace calkit::compile {
namespace {

using testing_support::ScratchDir;

constexpr std::int64_t kLimit = 120'000'000'000;

/// A configured package with buffers for one model, written row by row as the layout says.
class Batch {
 public:
  explicit Batch(const std::filesystem::path& path) {
    status_.size = sizeof status_;
    ok(api_.open(&device_, &status_));
    ok(api_.load(device_, path.c_str(), &package_, &status_));
    calkit_memory_report_v1 memory{};
    memory.size = sizeof memory;
    ok(api_.configure(package_, kLimit, &memory, &status_));
  }
  ~Batch() {
    for (calkit_buffer_v1* buffer : buffers_) ok(api_.buffer_destroy(buffer, &status_));
    for (calkit_kv_v1* kv : slots_) ok(api_.kv_free(kv, &status_));
    ok(api_.unload(package_, &status_));
    ok(api_.close(device_, &status_));
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  /// Takes `rows` slots and applies them in reverse, so that row and slot numbers differ.
  void take_slots(std::uint32_t rows) {
    for (std::uint32_t row = 0; row < rows; ++row) {
      slots_.push_back(nullptr);
      ok(api_.kv_allocate(package_, &slots_.back(), &status_));
      ok(api_.kv_apply(slots_.back(), rows - 1 - row, &status_));
    }
  }

  /// One call for all rows; the logits of each.
  std::vector<std::vector<float>> run(const std::string& model, const std::vector<std::vector<std::int32_t>>& rows,
                                      const std::vector<std::int64_t>& past) {
    calkit_buffer_v1* buffers[3] = {make(model, CALKIT_INPUT, 0), make(model, CALKIT_INPUT, 1),
                                    make(model, CALKIT_OUTPUT, 0)};
    for (std::size_t row = 0; row < rows.size(); ++row) {
      std::vector<std::int64_t> tokens(rows[row].begin(), rows[row].end()), positions;
      for (std::size_t i = 0; i < tokens.size(); ++i) positions.push_back(past[row] + static_cast<std::int64_t>(i));
      write(buffers[0], row, tokens);
      write(buffers[1], row, positions);
      const auto index = static_cast<std::uint32_t>(row);
      ok(api_.csr_write(package_, model.c_str(), "cur_seq_len", index, static_cast<std::int64_t>(tokens.size()),
                        &status_));
      ok(api_.csr_write(package_, model.c_str(), "past_kv_cur_seq_len", index, past[row], &status_));
    }
    calkit_submit_v1 call{};
    call.size = sizeof call;
    call.rows = static_cast<std::uint32_t>(rows.size());
    call.model = model.c_str();
    call.buffers = buffers;
    call.buffer_count = 3;
    calkit_job_v1* job = nullptr;
    ok(api_.submit(package_, &call, &job, &status_));
    std::uint32_t state = 0;
    ok(api_.wait(job, kLimit, &state, &status_));
    ok(api_.job_release(job, &status_));
    return read(buffers[2], rows.size());
  }

 private:
  void ok(std::uint32_t kind) { EXPECT_EQ(kind, 0u) << status_.message; }

  calkit_buffer_v1* make(const std::string& model, std::uint32_t direction, std::uint32_t index) {
    calkit_tensor_info_v1 info{};
    info.size = sizeof info;
    ok(api_.tensor_info(package_, model.c_str(), direction, index, &info, &status_));
    layout_[direction] = info.layout;
    calkit_buffer_v1* buffer = nullptr;
    ok(api_.buffer_create(package_, model.c_str(), direction, info.name, &buffer, &status_));
    buffers_.push_back(buffer);
    return buffer;
  }
  std::byte* map(calkit_buffer_v1* buffer, std::uint32_t mode) {
    void* data = nullptr;
    std::uint64_t bytes = 0;
    ok(api_.buffer_map(buffer, mode, &data, &bytes, &status_));
    return static_cast<std::byte*>(data);
  }
  void write(calkit_buffer_v1* buffer, std::size_t row, const std::vector<std::int64_t>& values) {
    std::memcpy(map(buffer, CALKIT_MAP_WRITE) + row * layout_[CALKIT_INPUT].strides_bytes[0], values.data(),
                values.size() * 8);
    ok(api_.buffer_unmap(buffer, &status_));
  }
  std::vector<std::vector<float>> read(calkit_buffer_v1* buffer, std::size_t rows) {
    const calkit_layout_v1& layout = layout_[CALKIT_OUTPUT];
    std::vector<std::vector<float>> out(rows, std::vector<float>(static_cast<std::size_t>(layout.logical_shape[1])));
    const std::byte* data = map(buffer, CALKIT_MAP_READ);
    for (std::size_t row = 0; row < rows; ++row)
      std::memcpy(out[row].data(), data + row * layout.strides_bytes[0], out[row].size() * 4);
    ok(api_.buffer_unmap(buffer, &status_));
    return out;
  }

  const calkit_device_api_v1& api_ = *emulator::entry(CALKIT_DEVICE_ABI_V1);
  calkit_status_v1 status_{};
  calkit_device_v1* device_ = nullptr;
  calkit_package_v1* package_ = nullptr;
  std::vector<calkit_buffer_v1*> buffers_;
  std::vector<calkit_kv_v1*> slots_;
  calkit_layout_v1 layout_[2]{};
};

TEST(BatchOfFour, EveryRowEqualsThePeerWhateverItsLength) {
  const Road& road = Road::of({"tiny-dense", DType::kF32, 256, 4});
  const ScratchDir dir;
  PackOptions options = road.options(dir / "b4.calbin");
  options.tile_rows = 16;
  const auto report = pack(options);
  ASSERT_TRUE(report.ok()) << report.error().message;
  std::vector<const frozen::ReferenceItem*> items;
  for (const auto& item : road.reference().items) {
    const bool other_length =
        std::none_of(items.begin(), items.end(), [&](auto* have) { return have->ids.size() == item.ids.size(); });
    if (!item.ids.empty() && item.ids.size() < 200 && other_length && items.size() < 4) items.push_back(&item);
  }
  ASSERT_EQ(items.size(), 4u);
  for (const std::size_t rows : {std::size_t{4}, std::size_t{2}}) {
    Batch batch(options.out);
    batch.take_slots(static_cast<std::uint32_t>(rows));
    std::vector<std::vector<std::int32_t>> tokens;
    std::vector<std::int64_t> past(rows, 0);
    for (std::size_t row = 0; row < rows; ++row) tokens.push_back(items[row]->ids);
    auto logits = batch.run(report->prefill_model, tokens, past);
    for (std::size_t step = 0; step < 4; ++step) {
      for (std::size_t row = 0; row < rows; ++row) {
        if (step == 0) {
          const Closeness close = calkit::compare(logits[row], items[row]->logits);
          ASSERT_EQ(close.non_finite, 0u);
          EXPECT_LE(close.nmse.value_or(1), 1e-9) << "row " << row;
        }
        const frozen::GreedyStep& wanted = items[row]->greedy[step];
        if (wanted.margin > 1e-3) {
          EXPECT_EQ(top_k(logits[row], 1).at(0), wanted.token) << "row " << row << " step " << step;
        }
        past[row] += static_cast<std::int64_t>(tokens[row].size());
        tokens[row] = {wanted.token};
      }
      logits = batch.run(report->decode_model, tokens, past);
    }
  }
}

}  // namespace
}  // namespace calkit::compile
