#include "freeze_baseline.h"

namespace calkit::cli {

void add_freeze_baseline(CLI::App& root) {
  CLI::App* group = add_group(root, "freeze-baseline", "Freeze what a model answers, and check it again later.",
                              "  calkit freeze-baseline model MODEL_DIR --out baseline\n"
                              "  calkit freeze-baseline verify baseline --peer transformers-goldens\n"
                              "  calkit freeze-baseline diff last-month today");
  add_freeze_model(*group);
  add_freeze_merge(*group);
  add_freeze_verify(*group);
  add_freeze_compare(*group);
  add_freeze_diff(*group);
  add_freeze_store(*group);
  add_freeze_product(*group);
  add_freeze_reference(*group);
  add_freeze_audit_csv(*group);
}

}  // namespace calkit::cli
